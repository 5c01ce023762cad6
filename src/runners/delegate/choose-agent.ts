import type { JobDocument } from "../../contract/document.ts";
import type { IsolationLevel } from "../../sandbox/sandbox.ts";
import { RunFailure } from "../runner.ts";
import { agentProblem } from "./agent-problems.ts";
import type { AgentEntry, Capability, DelegateSettings } from "./delegate-settings.ts";

/** The agent that a job names, and the model that it is to use. */
export type ChosenAgent = { entry: AgentEntry; capability: Capability };

/** The name that stands for the worker's first agent that can run. */
const defaultName = "default";

/** Throws a RunFailure if this worker has no such agent or model, or cannot run the agent. */
export function chooseAgent(
  settings: DelegateSettings & { level: IsolationLevel },
  document: Pick<JobDocument, "provider" | "model" | "requires">,
  name: string,
): ChosenAgent {
  const { provider, model } = document;
  const capability = settings.capabilities.find((has) => has.provider === provider && has.model === model);
  if (capability === undefined)
    throw new RunFailure("INVALID_JOB", "NO_SUCH_MODEL", `this worker has no model ${provider} ${model}`);
  const entries = settings.agents;
  const problemOf = (entry: AgentEntry): string | null => agentProblem(entry, settings.level);
  const able = entries.filter((entry) => problemOf(entry) === null);
  const entry = name === defaultName ? firstEntry(able, document) : findEntry(able, name);
  if (entry !== undefined) return { entry, capability };
  // The hub offers no such job to this worker, unless it is older or queued the job before it knew.
  const unable = name === defaultName ? entries[0] : findEntry(entries, name);
  if (unable !== undefined)
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `the agent ${unable.name} ${problemOf(unable)}`);
  const names = entries.map((known) => known.name).join(", ") || "none";
  const reason = `this worker has no agent ${JSON.stringify(name)}; it has: ${names}`;
  throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", reason);
}

/** A job that was routed here by a session is for the agent in it. */
function firstEntry(
  entries: readonly AgentEntry[],
  { requires }: Pick<JobDocument, "requires">,
): AgentEntry | undefined {
  const session = requires?.session;
  return entries.find((entry) => session !== undefined && entry.session === session) ?? entries[0];
}

function findEntry(entries: readonly AgentEntry[], name: string): AgentEntry | undefined {
  return entries.find((entry) => entry.name === name);
}
