import { join, resolve } from "node:path";
import type { Command } from "commander";
import { parseLogFormat } from "../../../runtime/log/log-format.ts";
import { openLogger } from "../../../runtime/log/logger.ts";
import { ensureHome } from "../../../runtime/settings/home.ts";
import { startWorker, type WorkerSettings } from "../../../worker/start.ts";
import type { CliContext } from "../../context.ts";
import { whenAborted } from "../../stop-requests.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { warnOfUnknownVariables } from "../unknown-variables.ts";
import { keysLostCode, listenToParent } from "./parent-link.ts";
import { readWorkerSettings, workerHome } from "./worker-config.ts";

type WorkerFlags = { config?: string; withParent?: boolean };

export function define(command: Command, context: CliContext): void {
  command
    .option(
      "--config <file>",
      "the worker's agents.yaml (default: agents.yaml in its home, else the environment alone)",
    )
    .option("--with-parent", "drain and exit when standard input closes; `writ up` uses this")
    .action((flags: WorkerFlags) => runWorker(context, command, flags));
}

/** Runs a worker until a signal or its parent asks it to stop: first by draining, the second time at once. */
async function runWorker(context: CliContext, command: Command, flags: WorkerFlags): Promise<void> {
  const { version } = context;
  const home = workerHome(context, command);
  await ensureHome(home);
  // In `writ up` the hub has the same environment, and has said it.
  if (!flags.withParent) warnOfUnknownVariables(context);
  const settings = await readWorkerSettings(context, home, flags.config);
  const stops = listenForStops(context, flags);
  const onWarning = (sentence: string): void =>
    void context.stderr.write(`${context.program}: ${neutraliseLine(sentence)}\n`);
  // In `writ up` the hub shares the terminal, and reports by itself what concerns its worker.
  const told = flags.withParent ? {} : { onWarning };
  const logger = openWorkerLog(home, { ...settings.logging, ...told });
  const keysLost = new AbortController();
  const onKeysLost = flags.withParent ? () => keysLost.abort() : undefined;
  try {
    const worker = await startWorker({
      settings,
      home,
      version,
      logger,
      signal: stops.requested,
      onKeysLost,
    });
    for (const warning of worker.warnings) context.stderr.write(`warning: ${neutraliseLine(warning)}\n`);
    if (!flags.withParent) {
      context.stdout.write(`worker ${neutraliseLine(worker.workerId)} is running. Ctrl-C stops it.\n`);
    }
    const ended = AbortSignal.any([stops.requested, keysLost.signal]);
    // An error of the worker rejects `worker.done` below; one of the stop itself changes nothing.
    void whenAborted(ended).then(() => worker.stop().catch(() => {}));
    // An error of the worker rejects `worker.done` below; one of the stop itself changes nothing.
    void whenAborted(stops.forced).then(() => worker.stopNow().catch(() => {}));
    await worker.done;
    if (keysLost.signal.aborted) context.exitCode = keysLostCode;
    if (context.stops.forced.aborted) context.exitCode = context.stops.exitCode;
  } catch (error) {
    // Being asked to stop before it has started is not an error.
    if (!stops.requested.aborted) throw error;
  } finally {
    logger.close();
  }
}

/** Combines signals with what the parent says. */
function listenForStops({ stdin, stops }: CliContext, { withParent }: WorkerFlags): Stops {
  if (!withParent) return stops;
  // A terminal sends these to the parent too, which passes them on through the pipe.
  stops.ignore(["SIGINT", "SIGHUP"]);
  const drain = new AbortController();
  const now = new AbortController();
  listenToParent(stdin, { onDrain: () => drain.abort(), onStopNow: () => now.abort() });
  return {
    requested: AbortSignal.any([stops.requested, drain.signal, now.signal]),
    forced: AbortSignal.any([stops.forced, now.signal]),
  };
}

type Stops = { requested: AbortSignal; forced: AbortSignal };

const logLevels = { DEBUG: "debug", INFO: "info", WARNING: "warn", WARN: "warn", ERROR: "error" } as const;

function openWorkerLog(
  home: string,
  logging: WorkerSettings["logging"] & { onWarning?: (sentence: string) => void },
): ReturnType<typeof openLogger> {
  return openLogger({
    // Somebody who looks at the terminal and not into the log should see them too.
    onWarning: logging.onWarning,
    file: resolve(home, logging.file ?? join("logs", "worker.log")),
    level: logLevels[logging.level ?? "INFO"],
    maxSizeBytes: logging.max_size_bytes,
    keep: logging.backup_count,
    format: parseLogFormat(logging.format ?? "json"),
  });
}
