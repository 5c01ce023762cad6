import { documentFormat } from "../../core/jobs/document-format.ts";
import { hideJob } from "../../core/text/hide-paths.ts";
import { agentProblems } from "../../runners/delegate/agent-problems.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { WorkerSettings } from "../settings.ts";
import type { Registration } from "./hub-calls.ts";

/** The hub accepts at most this many characters of a reason. */
const problemCharsMax = 500;

type WorkerProgram = {
  version: string;
  bootId: string;
  publicKey: string;
  kinds: readonly string[];
  /** Types that functions of this program handle. */
  functionTypes: readonly string[];
  sandbox: Pick<Sandbox, "level" | "lacking" | "startsNone">;
};

/** The registration of a worker. While no process can be caged, it says that the worker runs none, and why. */
export function registrationOf(
  settings: WorkerSettings,
  facts: WorkerProgram,
  sandboxProblem: string | null,
): Registration {
  const { functionTypes } = facts;
  // Configured handlers are processes.
  const canRun =
    sandboxProblem === null
      ? { kinds: [...facts.kinds], handler_types: [...Object.keys(settings.handlers), ...functionTypes] }
      : {
          kinds: kindsWithoutCage(settings, functionTypes),
          handler_types: [...functionTypes],
          // Other tenants can read it too.
          sandbox_problem: shortened(hideJob(sandboxProblem, settings.workDir)),
        };
  const { level, lacking = [], startsNone = false } = facts.sandbox;
  const missing = lacking.map(({ part, why }) => ({ part, why: shortened(why) }));
  return {
    worker_id: settings.workerId,
    name: settings.name,
    location: settings.location,
    cores: settings.cores,
    ram_gb: settings.ramGb,
    tags: settings.tags,
    types: settings.types,
    ...canRun,
    ...(startsNone ? {} : { isolation: { level, missing } }),
    ...agentsOf(settings, level),
    containers: Object.keys(settings.containers?.byName ?? {}),
    document_format: documentFormat,
    boot_id: facts.bootId,
    slots: settings.slots,
    capabilities: settings.capabilities.map(({ provider, model }) => ({ provider, model })),
    public_key: facts.publicKey,
    version: facts.version,
  };
}

/** The sessions of agents that can run here, and which agents cannot. */
function agentsOf(
  { delegate, sessions }: Pick<WorkerSettings, "delegate" | "sessions">,
  level: Sandbox["level"],
): Pick<Registration, "sessions" | "agent_problems"> {
  const agents = delegate?.agents ?? [];
  const problems = agentProblems(agents, level);
  if (problems.length === 0) return { sessions };
  const isAble = (name: string): boolean => problems.every(({ agent }) => agent !== name);
  const isServed = (session: string): boolean =>
    agents.some((agent) => agent.session === session && isAble(agent.name));
  return { sessions: sessions.filter(isServed), agent_problems: problems };
}

function shortened(reason: string): string {
  return reason.slice(0, problemCharsMax).toWellFormed();
}

/**
 * The kinds that need no process here: functions of this program, and coding agents if none of them is a process. With
 * other agents, the worker would get jobs for them only to release them.
 */
export function kindsWithoutCage(
  { delegate }: Pick<WorkerSettings, "delegate">,
  functionTypes: readonly string[],
): string[] {
  const agents = delegate?.agents ?? [];
  const areBuiltIn = agents.length > 0 && agents.every(({ builtin }) => builtin !== undefined);
  return [...(functionTypes.length > 0 ? ["handler"] : []), ...(areBuiltIn ? ["delegate"] : [])];
}
