import { Gauge } from "prom-client";
import type { Clock } from "../../../runtime/clock/clock.ts";
import type { QueueSurveyLine } from "../../../store/queues/survey-queues.ts";
import type { Store } from "../../../store/store.ts";
import { workerStatus } from "../../views/worker-view.ts";
import type { JobLabels, LabelBudget } from "./label-budget.ts";
import type { HubMetrics } from "./metrics.ts";

const labelNames = ["tenant", "type"] as const;

/** Waiting and running jobs, by tenant and type. */
export function addQueueGauges(
  { registry, jobTimes }: HubMetrics,
  deps: { store: Pick<Store, "surveyQueues">; clock: Clock },
): void {
  const survey = shared(async () => fold(await deps.store.surveyQueues(), jobTimes.labels));
  const add = (name: string, help: string, read: (line: Folded) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const lines = await survey();
        this.reset();
        for (const line of lines) {
          const value = read(line);
          if (value !== null) this.set(line.labels, value);
        }
      },
    });
  add("writ_pending_jobs", "Jobs that wait, by tenant and type", ({ pending }) => pending);
  add(
    "writ_scheduled_jobs",
    "Jobs whose run_at has not come, by tenant and type; they do not wait",
    ({ scheduled }) => scheduled,
  );
  add("writ_held_jobs", "Jobs that workers hold, by tenant and type", ({ active }) => active);
  add(
    "writ_oldest_pending_job_age_seconds",
    "How long the oldest job that can be claimed has waited, by tenant and type",
    ({ oldestAt }) => (oldestAt === null ? null : Math.max(0, deps.clock.nowMs() - oldestAt) / 1000),
  );
}

type Folded = Pick<QueueSurveyLine, "pending" | "scheduled" | "active" | "oldestAt"> & { labels: JobLabels };

/** Combines lines with the same labels. */
function fold(lines: QueueSurveyLine[], budget: LabelBudget): Folded[] {
  const folded = new Map<string, Folded>();
  for (const { tenantId, type, pending, scheduled, active, oldestAt } of lines) {
    const labels = budget.labels(tenantId, type);
    const name = JSON.stringify(labels);
    const known = folded.get(name) ?? { labels, pending: 0, scheduled: 0, active: 0, oldestAt: null };
    folded.set(name, {
      labels,
      pending: known.pending + pending,
      scheduled: known.scheduled + scheduled,
      active: known.active + active,
      oldestAt: Math.min(known.oldestAt ?? Infinity, oldestAt ?? Infinity),
    });
  }
  return [...folded.values()].map((line) => ({
    ...line,
    oldestAt: line.oldestAt === Infinity ? null : line.oldestAt,
  }));
}

const workerStates = ["active", "inactive", "draining", "blocked"] as const;

export function addWorkerGauges({ registry }: HubMetrics, deps: { store: Pick<Store, "listWorkers"> }): void {
  const registers = [registry];
  const list = shared(() => deps.store.listWorkers());
  const active = async () => (await list()).filter((worker) => workerStatus(worker) === "active");
  new Gauge({
    name: "writ_workers",
    help: "Workers by state",
    labelNames: ["state"],
    registers,
    async collect() {
      const workers = await list();
      for (const state of workerStates) {
        this.set({ state }, workers.filter((worker) => workerStatus(worker) === state).length);
      }
    },
  });
  new Gauge({
    name: "writ_worker_slots",
    help: "Jobs that the active workers can run at once",
    registers,
    async collect() {
      this.set((await active()).reduce((sum, { slots }) => sum + slots, 0));
    },
  });
  new Gauge({
    name: "writ_worker_slots_used",
    help: "Jobs that the active workers hold",
    registers,
    async collect() {
      this.set((await active()).reduce((sum, { currentJobs }) => sum + currentJobs, 0));
    },
  });
}

/** Calls that arrive while one is being answered get the same answer, because metrics are read together. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null;
  return () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
}
