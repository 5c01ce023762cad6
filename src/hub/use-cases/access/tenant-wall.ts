import type { Identity } from "../../../core/identity.ts";
import type { WorkerRecord } from "../../../store/worker-store.ts";

/** Whether something of this tenant must look to the caller as if it did not exist. */
export function isHidden(identity: Identity, thing: { tenantId: string | null }): boolean {
  return identity.tenantId !== null && identity.tenantId !== thing.tenantId;
}

/** Whether a tenant is concerned with this worker; null stands for all tenants. */
export function mayServe(worker: WorkerRecord, tenantId: string | null): boolean {
  return tenantId === null || worker.facts.tenantId === null || worker.facts.tenantId === tenantId;
}
