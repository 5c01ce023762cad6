import type { Identity } from "../../../core/identity.ts";
import { hidePaths } from "../../../core/text/hide-paths.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";

/** Whether a thing of this tenant must look to the caller as if it did not exist. Why: ADR 0026. */
export function isHidden(identity: Identity, thing: { tenantId: string | null }): boolean {
  return identity.tenantId !== null && identity.tenantId !== thing.tenantId;
}

/** Whether this worker may run jobs of a tenant; null stands for all tenants. */
export function mayServe(worker: WorkerRecord, tenantId: string | null): boolean {
  return tenantId === null || worker.facts.tenantId === null || worker.facts.tenantId === tenantId;
}

/** Whether only the caller's tenant uses this worker; null stands for all tenants. */
export function isOwn({ facts }: WorkerRecord, tenantId: string | null): boolean {
  return tenantId === null || facts.tenantId === tenantId;
}

/** The worker as a tenant sees it: for a shared one, problems are shown without paths of its machine. */
export function seenBy(worker: WorkerRecord, tenantId: string | null): WorkerRecord {
  if (isOwn(worker, tenantId)) return worker;
  const { facts } = worker;
  const { sandboxProblem, agentProblems, isolation } = facts;
  const hidden = {
    sandboxProblem: sandboxProblem && hidePaths(sandboxProblem),
    agentProblems: agentProblems?.map(withoutPaths),
    isolation: isolation && { ...isolation, missing: isolation.missing.map(withoutPaths) },
  };
  return { ...worker, facts: { ...facts, ...hidden } };
}

function withoutPaths<T extends { why: string }>(problem: T): T {
  return { ...problem, why: hidePaths(problem.why) };
}
