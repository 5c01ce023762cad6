import type { JobRecord } from "../../core/jobs/job.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Store } from "../../store/store.ts";

/** The most damaged jobs that are remembered; beyond this, some are recorded again. */
const remembersMax = 10_000;

type Damage = { job: Pick<JobRecord, "id" | "tenantId"> | null; parts: readonly string[]; error: string };

/**
 * Records damage in the database, once for each job as long as the hub runs: a client that reads it every second must
 * not fill the audit trail. Why: ADR 0029.
 */
export class DamageLog {
  readonly #deps: { store: Pick<Store, "recordEvents">; clock: Clock; logger: Logger };
  readonly #recorded = new Set<string>();

  constructor(deps: { store: Pick<Store, "recordEvents">; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  async record({ job, parts, error }: Damage): Promise<void> {
    const key = `${job?.id ?? error} ${parts.join(" ")}`;
    if (this.#recorded.has(key)) return;
    if (this.#recorded.size >= remembersMax) this.#recorded.clear();
    this.#recorded.add(key);
    const { store, clock, logger } = this.#deps;
    logger.error({ job_id: job?.id, parts, error }, "the database is damaged");
    const details = job === null ? { error } : { parts, error };
    const owner = { tenantId: job?.tenantId ?? null, jobId: job?.id ?? null, ownerId: null };
    try {
      await store.recordEvents({
        events: [{ event: "STORE_CORRUPT", ts: clock.nowMs(), ...owner, details, origin: null }],
      });
    } catch (failure) {
      // The next call that finds the damage records it.
      this.#recorded.delete(key);
      throw failure;
    }
  }
}
