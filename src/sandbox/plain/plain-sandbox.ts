import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, open, stat, truncate } from "node:fs/promises";
import { limitParts } from "../cgroup/cgroup-limits.ts";
import { type PartName, protectionParts } from "../host/host-facts.ts";
import {
  type Isolation,
  type LaunchPlan,
  type ProcessExit,
  type RunningProcess,
  type Sandbox,
  SandboxUnavailable,
  type SpawnError,
} from "../sandbox.ts";
import { makeHome } from "./make-home.ts";
import { copyMasked, type MaskedCopy } from "./masked-copy.ts";
import { findTree, killProcessTree, signalProcessGroup } from "./process-tree.ts";
import { watchSizes } from "./watch-sizes.ts";

const noCage = "the worker runs processes without a cage";
const noParts: readonly PartName[] = [...protectionParts, ...limitParts];

/** Starts processes as children of the worker, in a session of their own and without a cage. */
export const plainSandbox: Sandbox = {
  level: "none",
  obstacle: null,
  async probe({ limits, mounts = [] }) {
    const lacking =
      mounts.length > 0
        ? "the job's mounts cannot be made"
        : limits.network === "closed"
          ? "the network cannot be closed"
          : undefined;
    if (lacking === undefined) return plainIsolation();
    throw new SandboxUnavailable(`${lacking}: ${noCage}`, { isHostDown: false });
  },
  workDirInside: (workDir) => workDir,
  start: async (plan) => startPlain(plan, await plainSandbox.probe(plan)),
  recheck: async () => null,
  sweep: async () => {},
  close: async () => {},
};

/** The record of a process without a cage, with the parts that it has nevertheless. */
export function plainIsolation(applied: readonly PartName[] = []): Isolation {
  const missing = noParts.filter((part) => !applied.includes(part)).map((part) => ({ part, why: noCage }));
  return { level: "none", applied: [...applied], missing };
}

/** Starts a process without a cage. */
export async function startPlain(
  plan: LaunchPlan,
  isolation: Isolation,
  ids?: { uid: number; gid: number },
): Promise<RunningProcess> {
  makeHome(plan);
  const cwdProblem = await directoryProblem(plan.cwd);
  if (cwdProblem !== undefined) return neverStarted(cwdProblem, isolation);
  const outputs = await openOutputs(plan);
  let copies: readonly MaskedCopy[] = [];
  let input: FileHandle | undefined;
  try {
    input = plan.stdinFile === undefined ? undefined : await open(plan.stdinFile, "r");
    const child = spawnChild(plan, { outputs, input }, ids);
    // Node does not throw for a missing command: it returns a child without a pid, and reports the reason a moment
    // later.
    if (child.pid === undefined) return neverStarted(await spawnErrorOf(child), isolation);
    copies = maskedCopies(plan, child, outputs);
    return superviseChild(plan, isolation, { child, pid: child.pid, copies });
  } catch (error) {
    return neverStarted(asSpawnError(error), isolation);
  } finally {
    // The child has its own descriptors by now; copies close the files themselves.
    if (copies.length === 0) await Promise.all(outputs.map((file) => file.close()));
    await input?.close();
  }
}

function maskedCopies(
  { masks = [] }: LaunchPlan,
  { stdout, stderr }: ChildProcess,
  [stdoutFile, stderrFile]: [FileHandle, FileHandle],
): MaskedCopy[] {
  if (stdout === null || stderr === null) return [];
  return [copyMasked(stdout, stdoutFile, masks), copyMasked(stderr, stderrFile, masks)];
}

/** A missing working directory would otherwise look exactly like a missing command. */
async function directoryProblem(path: string): Promise<SpawnError | undefined> {
  try {
    if ((await stat(path)).isDirectory()) return undefined;
    return { code: "ENOTDIR", message: `the working directory ${path} is not a directory` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { code: "ENOTDIR", message: `the working directory ${path} cannot be used: ${code}` };
  }
}

async function openOutputs(plan: LaunchPlan): Promise<[FileHandle, FileHandle]> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const stdout = await open(plan.stdoutFile, flags, 0o600);
  try {
    return [stdout, await open(plan.stderrFile, flags, 0o600)];
  } catch (error) {
    await stdout.close();
    throw error;
  }
}

type PlainFiles = { outputs: [FileHandle, FileHandle]; input: FileHandle | undefined };

function spawnChild(
  plan: LaunchPlan,
  { outputs: [stdout, stderr], input: file }: PlainFiles,
  ids: { uid: number; gid: number } | undefined,
): ChildProcess {
  const [command = "", ...args] = plan.argv;
  const isMasked = (plan.masks ?? []).length > 0;
  const input = file?.fd ?? (plan.stdin === undefined ? "ignore" : "pipe");
  const child = spawn(command, args, {
    cwd: plan.cwd,
    // Node adds this one variable of its own to every child; an empty value keeps it out.
    env: { ...plan.env, NODE_V8_COVERAGE: undefined },
    stdio: isMasked ? [input, "pipe", "pipe"] : [input, stdout.fd, stderr.fd],
    detached: true,
    shell: false,
    // Node then also clears the supplementary groups.
    ...ids,
  });
  // A process that ends without reading all of it closes the pipe.
  child.stdin?.on("error", () => {});
  child.stdin?.end(plan.stdin);
  return child;
}

function superviseChild(
  plan: LaunchPlan,
  isolation: Isolation,
  { child, pid, copies }: { child: ChildProcess; pid: number; copies: readonly MaskedCopy[] },
): RunningProcess {
  // Once the process has been waited for, its number may belong to another one.
  let isOver = false;
  let outputLimited = false;
  const limitOutput = (): void => {
    outputLimited = true;
    if (!isOver) signalProcessGroup(pid, "SIGKILL");
  };
  const sizes = watchSizes([plan.stdoutFile, plan.stderrFile], plan.outputBytesMax, limitOutput);

  const exited = new Promise<ProcessExit>((resolve) => {
    child.once("exit", async (exitCode, signal) => {
      await killProcessTree(pid);
      isOver = true;
      const failures = await Promise.all(copies.map((copy) => copy.finish()));
      sizes.close();
      outputLimited = (await cutOutputs(plan)) || outputLimited;
      const failure = failures.find((code) => code !== null);
      const unwritten =
        failure === undefined ? {} : { unwritten: `its output could not be written: ${failure}` };
      resolve({ exitCode, signal, usage: {}, outputLimited, ...unwritten });
    });
  });
  return {
    pid,
    exited,
    isolation,
    // Without a cgroup the kernel counts only what has already ended.
    usage: () => ({}),
    pids: async () => (isOver ? [] : findTree(pid)),
    signalGroup: (signal) => {
      if (!isOver) signalProcessGroup(pid, signal);
    },
    killTree: async () => {
      if (!isOver && !(await killProcessTree(pid)))
        throw new Error("a process of the job has become another user's, so it cannot be ended");
    },
  };
}

/** Truncates to the allowed bytes, and returns whether there were more. */
async function cutOutputs(plan: LaunchPlan): Promise<boolean> {
  const cuts = [plan.stdoutFile, plan.stderrFile].map(async (path) => {
    const { size } = await stat(path);
    if (size <= plan.outputBytesMax) return false;
    await truncate(path, plan.outputBytesMax);
    return true;
  });
  const results = await Promise.allSettled(cuts);
  return results.some((result) => result.status === "fulfilled" && result.value);
}

function spawnErrorOf(child: ChildProcess): Promise<SpawnError> {
  return new Promise((resolve) => child.once("error", (error) => resolve(asSpawnError(error))));
}

function asSpawnError(error: unknown): SpawnError {
  const { code, message } = error as NodeJS.ErrnoException;
  return { code: code ?? "UNKNOWN", message };
}

/** The report about a process that was never started. */
export function neverStarted(spawnError: SpawnError, isolation: Isolation): RunningProcess {
  return {
    pid: 0,
    exited: Promise.resolve({
      exitCode: null,
      signal: null,
      usage: {},
      spawnError,
      outputLimited: false,
    }),
    isolation,
    usage: () => ({}),
    pids: async () => [],
    signalGroup: () => {},
    killTree: async () => {},
  };
}
