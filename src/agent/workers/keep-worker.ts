import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { codeOf } from "../../core/errors.ts";
import { socketPathBytesMax } from "../../runners/http-worker/connect-to-worker.ts";
import { secretForms } from "../../runners/secret-forms.ts";
import { makeDir } from "../../runtime/files/make-dir.ts";
import { Masker } from "../../sandbox/plain/masker.ts";
import { killProcessTree, signalProcessGroup } from "../../sandbox/plain/process-tree.ts";
import type { AgentDeps } from "../agent-deps.ts";
import { stopGraceMs } from "../agent-job.ts";
import { workerFiles, workerIdOf } from "../agent-settings.ts";
import { LineBuffer } from "../logs/line-buffer.ts";
import { identityOf } from "./process-identity.ts";
import { workerEnvironment } from "./worker-environment.ts";
import { type WantedWorker, type WorkerState, workerSubject, writeWorkerState } from "./worker-state.ts";

const restMs = 1_000;

/**
 * `keep-worker`, which only the agent itself starts: the parent of one persistent worker. It outlives the call that
 * needed the worker, writes the worker's log, and records how the worker ended. Prints one line when the worker has
 * been started, or why it could not be. Why: ADR 0045.
 */
export async function keepWorker(deps: AgentDeps): Promise<number> {
  const wanted = JSON.parse(await text(deps.stdin)) as WantedWorker;
  const child = startWorker(deps, wanted);
  const failure = await startFailure(child);
  if (failure !== null) {
    deps.stdout.write(`${JSON.stringify({ error: failure })}\n`);
    return 1;
  }
  const copies = copyOutput(deps, wanted, child);
  const ended = endOf(child);
  const closed = new Promise((resolve) => child.once("close", resolve));
  const state = stateOf(deps, wanted, child.pid!);
  try {
    makeDir(dirname(workerFiles(deps.settings, wanted.port).state));
    await writeWorkerState(deps.settings, state);
  } catch (error) {
    // No later job would find it, and it would keep its port.
    await killProcessTree(child.pid!);
    deps.stdout.write(`${JSON.stringify({ error: `its state cannot be written (${codeOf(error)})` })}\n`);
    return 1;
  }
  deps.log.info(workerSubject(wanted.port), `started pid=${child.pid}`);
  deps.stdout.write(`${JSON.stringify({ pid: child.pid })}\n`);

  stopWhenAsked(deps, child.pid!);
  const end = await ended;
  await killProcessTree(child.pid!);
  // A process that has left the worker's session may keep the pipes open for ever.
  await Promise.race([closed, deps.clock.sleep(restMs)]);
  copies.finish();
  await writeWorkerState(deps.settings, {
    ...state,
    status: "stopped",
    last_checked_at: new Date(deps.clock.nowMs()).toISOString(),
    end,
  });
  deps.log.info(workerSubject(wanted.port), `${end} pid=${child.pid}`);
  return 0;
}

function startWorker(deps: AgentDeps, { command, secrets, port }: WantedWorker): ChildProcess {
  const [program = "", ...args] = command;
  const socketFile = workerFiles(deps.settings, port).socket;
  try {
    // Of the last one, if it was killed.
    rmSync(socketFile, { force: true });
  } catch {
    // A state that cannot be written is reported below.
  }
  const told = Buffer.byteLength(socketFile) <= socketPathBytesMax ? { WRIT_SOCKET: socketFile } : {};
  return spawn(program, args, {
    cwd: deps.cwd,
    env: { ...workerEnvironment(deps.env), ...secrets, PORT: String(port), ...told },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
}

function startFailure(child: ChildProcess): Promise<string | null> {
  return new Promise((resolve) => {
    child.once("spawn", () => resolve(null));
    child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) =>
      resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`),
    );
  });
}

/** Both streams in one log, by whole lines, with the worker's secrets masked. */
function copyOutput(deps: AgentDeps, wanted: WantedWorker, child: ChildProcess): { finish(): void } {
  const log = deps.log.open(workerFiles(deps.settings, wanted.port).log);
  const masks = secretForms(Object.values(wanted.secrets));
  const copies = [child.stdout!, child.stderr!].map((stream) => {
    const masker = new Masker(masks);
    const lines = new LineBuffer((whole) => log.append(whole));
    stream.on("data", (chunk: Buffer) => lines.push(masker.push(chunk)));
    return () => {
      lines.push(masker.end());
      lines.end();
    };
  });
  return {
    finish() {
      for (const finish of copies) finish();
    },
  };
}

function stateOf(deps: AgentDeps, wanted: WantedWorker, pid: number): WorkerState {
  const now = new Date(deps.clock.nowMs()).toISOString();
  return {
    worker_id: workerIdOf(wanted.port),
    job_class: wanted.jobClass,
    kind: "persistent_http",
    port: wanted.port,
    pid,
    status: "starting",
    started_at: now,
    last_checked_at: now,
    agent_version: deps.version,
    // The next look finds a worker that has ended by now.
    start_ticks: identityOf(pid)?.start_ticks ?? 0,
    keeper: identityOf(process.pid)!,
    command: [...wanted.command],
    fingerprint: wanted.fingerprint,
    end: null,
  };
}

/** A signal ends the worker in order; when it has ended, so does its keeper. */
function stopWhenAsked({ stop, hurry, clock }: AgentDeps, pid: number): void {
  const kill = (): void => void killProcessTree(pid);
  stop.addEventListener("abort", () => {
    signalProcessGroup(pid, "SIGTERM");
    clock.setTimer(kill, stopGraceMs);
  });
  hurry.addEventListener("abort", kill);
}
