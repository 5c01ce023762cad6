import type { ExecutionLocation, Provider } from "./document.ts";

/**
 * Jobs that every worker would judge alike share a queue. A worker is matched against the few queues that exist, never
 * against the many jobs in them, so jobs that it cannot run cost it nothing.
 */
export type QueueFacts = {
  tenant_id: string;
  type: string;
  kind: string;
  execution_location: string;
  provider: string | null;
  model: string | null;
  tags: string[];
  session: string | null;
  cores: number | null;
  ram_gb: number | null;
  container: string | null;
  /** The agent that a `delegate` job names; null for any other job, and for one that takes the worker's first. */
  agent: string | null;
  /** For a job with a closed network, which not every host can make; null for any other. */
  network: "closed" | null;
  document_format: number;
};

export type Capability = { provider: Provider; model: string };

/** `why` continues a sentence about the agent, such as `runs outside the cage`. */
type AgentProblem = { agent: string; why: string };

/** The facts about a worker that decide which queues it may claim from. */
export type WorkerFacts = {
  tenantId: string | null;
  location: ExecutionLocation;
  cores: number;
  ramGb: number;
  tags: string[];
  /** Empty means every type, except that `handler` jobs go only to workers that list their type. */
  types: string[];
  /** Types that it has a handler for, in addition to the other kinds that it runs. */
  handlerTypes: string[];
  capabilities: Capability[];
  /** The kinds of job that it runs. */
  kinds: string[];
  sessions: string[];
  containers: string[];
  /** The newest format of documents that it reads. */
  documentFormat: number;
  /**
   * It registered neither kinds nor handler types: it takes `handler` and `solver` jobs of every type, unless it lists
   * types, and reads the plain fields of a claim.
   */
  isSimple?: true | undefined;
  /** Why it cannot run processes at present. */
  sandboxProblem?: string | undefined;
  /** Coding agents in its settings that it cannot run. It is given no job that names one of them. */
  agentProblems?: AgentProblem[] | undefined;
  /** How it isolates processes, and what its host lacks for more. Of that, only a network of its own decides anything here. */
  isolation?: { level: string; missing: { part: string; why: string }[] } | undefined;
  /** The process that registered last. It holds the name; absent for workers that do not name their process. */
  bootId?: string | undefined;
};

/** What a worker of version 0.1 can do; it does not register this. */
export const oldWorker = { kinds: ["exec", "handler"], documentFormat: 1 } as const;

/** What a worker that names neither kinds nor handler types is given: work without a process of the worker's choosing. */
export const simpleWorker = { kinds: ["handler", "solver"], isSimple: true } as const;

/**
 * The facts as text; equal facts give equal text. The key is under the seal of every job that has it, so the text of
 * older facts must not change: newer facts follow in an object, which is left out when there are none. Why: ADR 0019.
 */
export function queueKey(facts: QueueFacts): string {
  const newer = {
    ...(facts.container === null ? {} : { container: facts.container }),
    ...(facts.agent === null ? {} : { agent: facts.agent }),
    ...(facts.network === null ? {} : { network: facts.network }),
    ...(facts.document_format === 1 ? {} : { document_format: facts.document_format }),
  };
  return JSON.stringify([
    facts.tenant_id,
    facts.type,
    facts.kind,
    facts.execution_location,
    facts.provider,
    facts.model,
    [...facts.tags].sort(),
    facts.session,
    facts.cores,
    facts.ram_gb,
    ...(Object.keys(newer).length === 0 ? [] : [newer]),
  ]);
}

export function parseQueueKey(key: string): QueueFacts {
  const [tenant_id, type, kind, execution_location, provider, model, tags, session, cores, ram_gb, newer] =
    JSON.parse(key);
  return {
    tenant_id,
    type,
    kind,
    execution_location,
    provider,
    model,
    tags,
    session,
    cores,
    ram_gb,
    container: newer?.container ?? null,
    agent: newer?.agent ?? null,
    network: newer?.network ?? null,
    document_format: newer?.document_format ?? 1,
  };
}

/** Why this worker cannot claim from this queue: one short phrase for each mismatch. */
export function misfits(queue: QueueFacts, worker: WorkerFacts): string[] {
  const why: string[] = [];
  if (worker.tenantId !== null && worker.tenantId !== queue.tenant_id) why.push("serves another tenant");
  if (worker.location !== queue.execution_location) why.push(`is at ${worker.location}`);
  // What runs in a container needs no cage here, so it can run even while there is none.
  const isContained = queue.container !== null && worker.containers.includes(queue.container);
  if (!isContained && !worker.kinds.includes(queue.kind)) why.push(kindMisfit(queue, worker));
  else if (agentProblemOf(queue, worker) !== undefined) why.push(agentMisfit(agentProblemOf(queue, worker)!));
  else if (!takesType(queue, worker)) why.push(`does not take ${queue.kind} jobs of type ${queue.type}`);
  if (queue.provider !== null && !hasModel(queue, worker))
    why.push(`has no ${queue.provider} ${queue.model}`);
  for (const tag of queue.tags) if (!worker.tags.includes(tag)) why.push(`lacks tag ${tag}`);
  if (queue.session !== null && !worker.sessions.includes(queue.session))
    why.push(`has no session ${queue.session}`);
  if (queue.container !== null && !isContained) why.push(`has no container ${queue.container}`);
  if (queue.document_format > worker.documentFormat)
    why.push(
      `reads documents up to format ${worker.documentFormat}, and this one has ${queue.document_format}`,
    );
  if (queue.network === "closed" && openNetworkOf(worker) !== null)
    why.push(`cannot close the network of a job: ${openNetworkOf(worker)}`);
  if (queue.cores !== null && queue.cores > worker.cores) why.push(`has ${worker.cores} cores`);
  if (queue.ram_gb !== null && queue.ram_gb > worker.ramGb) why.push(`has ${worker.ramGb} GB of memory`);
  return why;
}

function kindMisfit(queue: QueueFacts, worker: WorkerFacts): string {
  const { sandboxProblem, agentProblems = [] } = worker;
  if (queue.kind === "delegate" && agentProblems.length > 0)
    return agentMisfit(agentProblemOf(queue, worker) ?? agentProblems[0]!);
  const why = sandboxProblem === undefined ? "" : ` at present: ${sandboxProblem}`;
  return `does not run ${queue.kind} jobs${why}`;
}

/** Why it cannot keep a job from the network; null if it can, or has not said. */
function openNetworkOf({ isolation }: WorkerFacts): string | null {
  if (isolation?.level === "none") return "it runs processes without a cage";
  return isolation?.missing.find(({ part }) => part === "network")?.why ?? null;
}

function agentProblemOf(queue: QueueFacts, { agentProblems }: WorkerFacts): AgentProblem | undefined {
  return agentProblems?.find(({ agent }) => agent === queue.agent);
}

function agentMisfit({ agent, why }: AgentProblem): string {
  return `cannot run the agent ${agent}, because it ${why}`;
}

export function fits(queue: QueueFacts, worker: WorkerFacts): boolean {
  return misfits(queue, worker).length === 0;
}

function takesType(queue: QueueFacts, worker: WorkerFacts): boolean {
  if (worker.types.includes(queue.type)) return true;
  if (queue.kind === "handler" && worker.isSimple !== true) return worker.handlerTypes.includes(queue.type);
  return worker.types.length === 0;
}

function hasModel(queue: QueueFacts, worker: WorkerFacts): boolean {
  return worker.capabilities.some((c) => c.provider === queue.provider && c.model === queue.model);
}
