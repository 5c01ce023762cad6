import type { JobDocument } from "../../contract/document.ts";
import { RunFailure } from "../runner.ts";
import type { AgentEntry, Capability, DelegateSettings } from "./delegate-settings.ts";

/** The agent that a job names, and the model that it is to use. */
export type ChosenAgent = { entry: AgentEntry; capability: Capability };

/** The name that stands for the worker's first agent. */
const defaultName = "default";

/** Throws a RunFailure if this worker has no such agent or model. */
export function chooseAgent(
  settings: DelegateSettings,
  document: Pick<JobDocument, "provider" | "model" | "requires">,
  name: string,
): ChosenAgent {
  const { provider, model } = document;
  const capability = settings.capabilities.find((has) => has.provider === provider && has.model === model);
  if (capability === undefined)
    throw new RunFailure("INVALID_JOB", "NO_SUCH_MODEL", `this worker has no model ${provider} ${model}`);
  const entries = settings.agents;
  const entry = name === defaultName ? firstEntry(entries, document) : findEntry(entries, name);
  if (entry !== undefined) return { entry, capability };
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
