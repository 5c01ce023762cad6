import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { invalidArgument } from "../core/errors.ts";
import { RunFailure } from "../runners/runner.ts";
import { makeDir } from "../runtime/files/make-dir.ts";
import type { AgentDeps } from "./agent-deps.ts";
import { workerLogDir } from "./agent-settings.ts";
import { LogFollower } from "./logs/log-follower.ts";
import { findWorker } from "./workers/find-worker.ts";
import { wantedWorker, workerSubject } from "./workers/worker-state.ts";

type WarmUp = { port: number; command: string[] };
type StartWords = { fromStart: boolean; warmUps: WarmUp[] };

const lookMs = 250;

/**
 * `start`: starts the given workers, then shows the logs of all workers until it is stopped. A command that cannot be
 * started ends it with 1: the person who starts the container should see that at once.
 */
export async function startAgent(deps: AgentDeps, words: StartWords): Promise<number> {
  const followers = new Map<string, LogFollower>();
  makeDir(workerLogDir(deps.settings));
  if (!words.fromStart) await lookForLogs(deps, followers, { fromStart: false });
  const unstartable = new AbortController();
  for (const warmUp of words.warmUps) void warmUpWorker(deps, warmUp, () => unstartable.abort());
  const over = AbortSignal.any([deps.stop, unstartable.signal]);
  while (!over.aborted) {
    // A log that appears later is shown from its beginning.
    await lookForLogs(deps, followers, { fromStart: true });
    for (const follower of followers.values()) follower.read();
    // An aborted pause ends the loop by its condition.
    await deps.clock.sleep(lookMs, over).catch(() => {});
  }
  return unstartable.signal.aborted ? 1 : 0;
}

async function lookForLogs(
  { settings, stdout }: AgentDeps,
  followers: Map<string, LogFollower>,
  { fromStart }: { fromStart: boolean },
): Promise<void> {
  const dir = workerLogDir(settings);
  // The folder appears with the first worker.
  for (const name of await readdir(dir).catch(() => [])) {
    if (!/^http_\d+\.log$/.test(name) || followers.has(name)) continue;
    const worker = name.slice(0, -".log".length);
    const show = (lines: Buffer): void => {
      for (const line of lines.toString("utf8").split("\n").slice(0, -1))
        stdout.write(`worker=${worker} ${line}\n`);
    };
    followers.set(name, new LogFollower(join(dir, name), { fromStart, show }));
  }
}

/** A worker that starts and does not become ready is reported, and the others are still followed. */
async function warmUpWorker(
  deps: AgentDeps,
  { port, command }: WarmUp,
  onUnstartable: () => void,
): Promise<void> {
  const payload = {
    job_id: "warmup",
    job_class: "warmup",
    worker_command: command,
    interface: { kind: "persistent_http" as const, port },
    inputJson: "null",
  };
  try {
    await findWorker(deps, wantedWorker(payload, port), deps.stop);
  } catch (error) {
    if (deps.stop.aborted) return;
    const message = `was not warmed up: ${(error as Error).message}`;
    deps.log.error(workerSubject(port), message);
    deps.stderr.write(`writ-agent: ${workerSubject(port).worker} ${message}\n`);
    if (error instanceof RunFailure && error.detail === "SPAWN_FAILED") onUnstartable();
  }
}

/** Options until the first --warmup; then each --warmup has a port and a command. */
export function readStartWords(words: readonly string[]): StartWords {
  const [head = [], ...groups] = splitAt(words, "--warmup");
  const unknown = head.find((word) => word !== "--from-start");
  if (unknown !== undefined)
    throw invalidArgument({
      path: "start",
      message: `does not know ${unknown}; see writ-agent start --help`,
    });
  return { fromStart: head.length > 0, warmUps: groups.map(readWarmUp) };
}

function readWarmUp([port = "", ...words]: string[]): WarmUp {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65_535)
    throw invalidArgument({
      path: "--warmup",
      message: `must begin with a port from 1 to 65535, not with ${JSON.stringify(port)}`,
    });
  const at = words.indexOf("--");
  const command = at === -1 ? words : words.toSpliced(at, 1);
  if (command.length === 0)
    throw invalidArgument({ path: `--warmup ${port}`, message: "needs the command of the worker" });
  return { port: number, command };
}

function splitAt(words: readonly string[], mark: string): string[][] {
  const groups: string[][] = [[]];
  for (const word of words) {
    if (word === mark) groups.push([]);
    else groups.at(-1)!.push(word);
  }
  return groups;
}
