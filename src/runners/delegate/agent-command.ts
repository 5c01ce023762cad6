import { join } from "node:path";
import { RunFailure } from "../runner.ts";
import type { ChosenAgent } from "./choose-agent.ts";
import type { Capability, DelegateSettings } from "./delegate-settings.ts";
import { type TaskDir, taskFileName } from "./show-task.ts";

type Files = { taskFile: string; completionMarker: string };
type Task = Files & { text: string };

/** Linux takes no longer argument; one byte of it ends the argument. */
const argumentBytesMax = 128 * 1024 - 1;

/**
 * The agent's command with the job's values in place of the placeholders. Throws a RunFailure if the task is too long
 * for an argument. Why: ADR 0102.
 */
export function agentCommand(words: readonly string[], capability: Capability, files: Task): string[] {
  const values: Readonly<Record<string, string>> = {
    task: files.text,
    task_file: files.taskFile,
    completion_marker: files.completionMarker,
    provider: capability.provider,
    model: capability.model,
    endpoint: capability.endpoint ?? "",
  };
  const command = words.map((word) =>
    word.replace(/\{([a-z_]+)\}/g, (all, name: string) => values[name] ?? all),
  );
  for (const word of command) refuseLong(Buffer.byteLength(word));
  return command;
}

function refuseLong(bytes: number): void {
  if (bytes <= argumentBytesMax) return;
  const advice = "shorten the prompt, or let the agent's entry use {task_file} or stdin: task";
  const reason = `{task} would be an argument of ${bytes} bytes, and one has at most ${argumentBytesMax}; ${advice}`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

/** The same as variables, for agents that read them, and the home that the agent may have. */
export function agentEnvironment({ entry, capability }: ChosenAgent, files: Files): Record<string, string> {
  return {
    ...gitEnvironment,
    ...(entry.home === undefined ? {} : { HOME: entry.home }),
    JOB_TASK_FILE: files.taskFile,
    JOB_COMPLETION_MARKER: files.completionMarker,
    JOB_PROVIDER: capability.provider,
    JOB_MODEL: capability.model,
    ...(capability.endpoint === undefined ? {} : { JOB_MODEL_ENDPOINT: capability.endpoint }),
  };
}

/**
 * Otherwise Git would try to write into the repository when it only reads, and would refuse one that belongs to another
 * user: in a cage the agent is the user nobody, and the repository belongs to its owner. Every repository in the cage
 * is shown on purpose.
 */
export const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.directory",
  GIT_CONFIG_VALUE_0: "*",
};

/** The worker's variables that this agent sees. They are masked in its output like secrets. */
export function workerVariables(
  { workerEnv }: Pick<DelegateSettings, "workerEnv">,
  { entry }: ChosenAgent,
): Record<string, string> {
  const names = entry.envFromWorker.filter((name) => Object.hasOwn(workerEnv, name));
  return Object.fromEntries(names.map((name) => [name, workerEnv[name]!]));
}

/** The agent's files as it sees them: in the job's own directory, but the task in its workspace if it is there too. */
export function agentFiles(inside: string, task: TaskDir | undefined): Files {
  const taskFile = task === undefined ? join(inside, taskName) : join(task.path, taskFileName);
  return { taskFile, completionMarker: join(inside, markerName) };
}

export const taskName = "TASK.md";
export const markerName = "TASK.done";
