import { adminRoutes } from "../contract/routes/admin-routes.ts";
import type { HubCaller } from "./hub/hub-caller.ts";
import type { Queue, Quota, TenantQuota, Worker } from "./shapes.ts";

/** The acts of an operator: on workers, on types of jobs, and on what tenants may use. */
export class Fleet {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  async worker(id: string): Promise<Worker> {
    return (await this.#hub.call(adminRoutes.getWorker, { params: { id } })).body;
  }

  /** The worker finishes its jobs and claims no more. */
  async drainWorker(id: string): Promise<Worker> {
    return (await this.#hub.call(adminRoutes.drainWorker, { params: { id } })).body;
  }

  async undrainWorker(id: string): Promise<Worker> {
    return (await this.#hub.call(adminRoutes.undrainWorker, { params: { id } })).body;
  }

  /** The worker gets no more jobs, and its reports are refused. */
  async blockWorker(id: string): Promise<Worker> {
    return (await this.#hub.call(adminRoutes.blockWorker, { params: { id } })).body;
  }

  async unblockWorker(id: string): Promise<Worker> {
    return (await this.#hub.call(adminRoutes.unblockWorker, { params: { id } })).body;
  }

  /** Its jobs are treated as if their leases had expired. */
  async removeWorker(id: string): Promise<void> {
    await this.#hub.call(adminRoutes.removeWorker, { params: { id } });
  }

  async queues(): Promise<Queue[]> {
    return (await this.#hub.call(adminRoutes.listQueues, {})).body;
  }

  /** Jobs of a paused type wait; those that run continue. */
  async setQueuePaused(type: string, paused: boolean): Promise<void> {
    await this.#hub.call(adminRoutes.setQueuePaused, { params: { type }, body: { paused } });
  }

  /** Every tenant that has a quota or jobs. */
  async quotas(): Promise<TenantQuota[]> {
    return (await this.#hub.call(adminRoutes.listQuotas, {})).body;
  }

  async quota(tenantId: string): Promise<Quota> {
    return (await this.#hub.call(adminRoutes.getQuota, { params: { id: tenantId } })).body;
  }

  /** Replaces the quota; a limit that is left out does not exist. */
  async setQuota(tenantId: string, quota: Quota): Promise<Quota> {
    return (await this.#hub.call(adminRoutes.putQuota, { params: { id: tenantId }, body: quota })).body;
  }
}
