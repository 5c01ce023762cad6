import type { IsolationLevel } from "../../sandbox/sandbox.ts";
import type { AgentEntry } from "./delegate-settings.ts";

/** An agent of the worker's settings that cannot run. `why` continues a sentence about it. */
type AgentProblem = { agent: string; why: string };

/** The agents that a worker with this isolation cannot run. It does not offer them to the hub. Why: ADR 0102. */
export function agentProblems(agents: readonly AgentEntry[], level: IsolationLevel): AgentProblem[] {
  return agents.flatMap((entry) => {
    const why = agentProblem(entry, level);
    return why === null ? [] : [{ agent: entry.name, why }];
  });
}

/** Why this agent cannot run; null if it can. */
export function agentProblem(entry: AgentEntry, level: IsolationLevel): string | null {
  if (!isOutsideAgent(entry) || level !== "strict") return null;
  return "runs outside the cage, which isolation strict does not allow";
}

/**
 * Whether an agent is a program that a person runs, for example an editor, which watches the repository for its task.
 */
export function isOutsideAgent({ command, builtin }: AgentEntry): boolean {
  return command === undefined && builtin === undefined;
}
