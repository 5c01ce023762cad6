import { type Command, InvalidArgumentError } from "commander";
import { Writ } from "../../../client/index.ts";
import type { MigrationProgress } from "../../../hub/admin.ts";
import { startHub } from "../../../hub/start.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { whenAborted } from "../../stop-requests.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";
import { MigrationBars } from "../database/migration-bars.ts";
import { warnOfUnknownVariables } from "../unknown-variables.ts";
import { greet } from "./greet.ts";
import { LocalWorker } from "./local-worker.ts";
import { loginLink } from "./login-link.ts";

type RunHubInput = {
  command: Command;
  flags: Record<string, string | undefined>;
  acceptLoss: number | undefined;
  withWorker: boolean;
};

/** The number is in the refusal, so an option that was left in a script does not accept the next loss. */
export const acceptLossOption = [
  "--accept-loss <seq>",
  "continue with a database that ends at this record, although the home knows later ones",
  recordNumber,
] as const;

function recordNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("use the number in the message of the refused start.");
}

/** Runs a hub, and perhaps a worker, until a signal arrives. The worker drains first, because it needs the hub. */
export async function runHub(
  context: CliContext,
  { command, flags, acceptLoss, withWorker }: RunHubInput,
): Promise<void> {
  const { env, osUser, version, stops } = context;
  const home = findHome(context, command);
  warnOfUnknownVariables(context);
  const onNotice = (line: string): void => void context.stderr.write(`writ: ${neutraliseLine(line)}\n`);
  const bars = new MigrationBars(context);
  const onTakeOver = (progress: MigrationProgress): void => {
    bars.show(progress);
    stops.requested.throwIfAborted();
  };
  const start = { home, flags, env, osUser, version, acceptLoss, onNotice, onTakeOver };
  const hub = await startHub(start).finally(() => bars.end());
  const worker = withWorker ? new LocalWorker(context, { home, hubUrl: hub.localUrl }) : undefined;
  try {
    for (const warning of hub.warnings) context.stderr.write(`warning: ${neutraliseLine(warning)}\n`);
    await worker?.start();
    greet(context, {
      url: hub.url,
      grpcPort: hub.grpcPort,
      home,
      workerId: worker?.workerId,
      loginUrl: context.stdout.isTTY === true ? await loginUrlOf(home) : undefined,
    });
    await whenAborted(stops.requested);
    const waitsFor = withWorker ? "running jobs" : "open calls";
    context.stderr.write(`stopping: waiting for ${waitsFor} to finish; press Ctrl-C again to stop at once\n`);
  } finally {
    await stopBoth(context, { hub, worker });
  }
}

/** The hub runs whether or not its page can be opened. */
async function loginUrlOf(home: string): Promise<string | undefined> {
  const writ = new Writ({ home });
  try {
    return (await loginLink(writ)).url;
  } catch {
    // The address of the hub is printed without a link.
    return undefined;
  } finally {
    writ.close();
  }
}

async function stopBoth(
  context: CliContext,
  { hub, worker }: { hub: { stop(): Promise<void> }; worker: LocalWorker | undefined },
): Promise<void> {
  const { forced } = context.stops;
  const stopping = (async () => {
    await worker?.drain();
    await hub.stop();
  })();
  await Promise.race([stopping, whenAborted(forced)]);
  if (!forced.aborted) return stopping;
  await worker?.stopNow();
  // Everything acknowledged is on disk, so it is safe to exit before the hub has stopped.
  await Promise.race([stopping.catch(() => {}), systemClock.sleep(hubStopNowMsMax)]);
  context.exitCode = context.stops.exitCode;
}

// Long enough to close the files, too short for anybody to notice.
const hubStopNowMsMax = 1000;
