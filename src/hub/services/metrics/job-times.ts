import { Histogram, type Registry } from "prom-client";
import { isEnded } from "../../../core/jobs/job.ts";
import type { JobBrief } from "../../../store/store.ts";
import { LabelBudget } from "./label-budget.ts";

const labelNames = ["tenant", "type"] as const;
/** In seconds, from a delay that a person does not notice to a day. */
const buckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 86_400];

/** How long jobs wait and how long they run, by tenant and type. */
export class JobTimes {
  readonly labels = new LabelBudget();
  readonly #waits: Histogram<(typeof labelNames)[number]>;
  readonly #runs: Histogram<(typeof labelNames)[number]>;

  constructor(registry: Registry) {
    const shared = { labelNames, buckets, registers: [registry] };
    this.#waits = new Histogram({
      name: "writ_job_wait_seconds",
      help: "Time from when a job could be claimed until it was claimed, by tenant and type",
      ...shared,
    });
    this.#runs = new Histogram({
      name: "writ_job_run_seconds",
      help: "Time that the last attempt of a job ran, as its worker reported the end, by tenant and type",
      ...shared,
    });
  }

  claimed({ tenantId, type, claimedAt, runAt }: JobBrief): void {
    if (claimedAt === null) return;
    this.#waits.observe(this.labels.labels(tenantId, type), Math.max(0, claimedAt - runAt) / 1000);
  }

  finished({ tenantId, type, status, claimedAt, startedAt, completedAt }: JobBrief): void {
    const from = startedAt ?? claimedAt;
    if (!isEnded(status) || from === null || completedAt === null) return;
    this.#runs.observe(this.labels.labels(tenantId, type), Math.max(0, completedAt - from) / 1000);
  }
}
