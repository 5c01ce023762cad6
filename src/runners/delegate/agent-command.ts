import { join } from "node:path";
import type { ChosenAgent } from "./choose-agent.ts";
import type { Capability, DelegateSettings } from "./delegate-settings.ts";

type Files = { taskFile: string; completionMarker: string };

/** The agent's command with what its job asked for in the place of each placeholder. */
export function agentCommand(words: readonly string[], capability: Capability, files: Files): string[] {
  const values: Readonly<Record<string, string>> = {
    task_file: files.taskFile,
    completion_marker: files.completionMarker,
    provider: capability.provider,
    model: capability.model,
    endpoint: capability.endpoint ?? "",
  };
  return words.map((word) => word.replace(/\{([a-z_]+)\}/g, (all, name: string) => values[name] ?? all));
}

/** The same as variables, for agents that read them, and the home that the agent may have. */
export function agentEnvironment({ entry, capability }: ChosenAgent, files: Files): Record<string, string> {
  return {
    // Git would otherwise try to write into the repository when it only looks.
    GIT_OPTIONAL_LOCKS: "0",
    ...(entry.home === undefined ? {} : { HOME: entry.home }),
    JOB_TASK_FILE: files.taskFile,
    JOB_COMPLETION_MARKER: files.completionMarker,
    JOB_PROVIDER: capability.provider,
    JOB_MODEL: capability.model,
    ...(capability.endpoint === undefined ? {} : { JOB_MODEL_ENDPOINT: capability.endpoint }),
  };
}

/** The variables of the worker that this agent sees. They are masked in its output like secrets. */
export function workerVariables(
  { workerEnv }: Pick<DelegateSettings, "workerEnv">,
  { entry }: ChosenAgent,
): Record<string, string> {
  const names = entry.envFromWorker.filter((name) => Object.hasOwn(workerEnv, name));
  return Object.fromEntries(names.map((name) => [name, workerEnv[name]!]));
}

/** The agent's files in the job's own directory, as it sees it. */
export function agentFiles(inside: string): Files {
  return { taskFile: join(inside, taskName), completionMarker: join(inside, markerName) };
}

export const taskName = "TASK.md";
export const markerName = "TASK.done";
