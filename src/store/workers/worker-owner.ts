import { oldWorker, type WorkerFacts } from "../../core/jobs/queue-key.ts";

/** Whose a worker is: a tenant's or, with null, the hub's, which shares it among all tenants. Why: ADR 0026. */
export type WorkerOwner = { tenantId: string | null };

/**
 * Whether a caller of this tenant may use a worker's name. A name without an owner is free, and a caller without a
 * tenant speaks for the hub.
 */
export function mayName(owner: WorkerOwner | null, tenantId: string | null): boolean {
  return owner === null || tenantId === null || owner.tenantId === tenantId;
}

/** What is known of a worker that is blocked while it is not registered. Its next registration says the rest. */
export function unknownFacts({ tenantId }: WorkerOwner): WorkerFacts {
  return {
    tenantId,
    location: "LOCAL_MACHINE",
    cores: 0,
    ramGb: 0,
    tags: [],
    types: [],
    handlerTypes: [],
    capabilities: [],
    kinds: [],
    sessions: [],
    containers: [],
    documentFormat: oldWorker.documentFormat,
  };
}
