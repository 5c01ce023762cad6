import type { ChangeAnswer, JobChange, Store, StoredJob } from "../src/store/store.ts";
import type { SimStore } from "./store.ts";

/** Changes the store of the hub for the worse, to see whether the simulator notices. */
export type Defect = (store: Store, sim: SimStore) => Partial<Store>;

export const noDefect: Defect = () => ({});

/**
 * Mistakes that somebody could make in the hub, each put in by hand. A simulator that does not find them within a thousand
 * schedules would not find the real one either.
 */
export const defects: Record<string, Defect> = {
  "a submit is answered before it is stored": (store) => ({
    async submitJobs(input) {
      void store.submitJobs(input).catch(() => {});
      const jobs = input.jobs.map(({ id }) => ({ id, status: "pending" as const, existed: false }));
      return { kind: "accepted", jobs };
    },
  }),

  "a result is answered before it is stored": (store, sim) => ({
    async changeJobs(input) {
      if (!input.changes.every(({ change }) => change.act === "result")) return store.changeJobs(input);
      void store.changeJobs(input).catch(() => {});
      return input.changes.map(({ jobId }) => movedTo(jobOf(sim, jobId), "completed"));
    },
  }),

  "an end is shown before it is durable": (store, sim) => {
    const ending = new Set<string>();
    return {
      async changeJobs(input) {
        const ends = input.changes.filter(({ change }) => change.act === "result");
        for (const { jobId } of ends) ending.add(jobId);
        // As with a write that is put off: it comes some calls later.
        for (let call = 0; call < 20 && ends.length > 0; call++) await store.getDatabase();
        return store.changeJobs(input).finally(() => {
          for (const { jobId } of ends) ending.delete(jobId);
        });
      },
      async getJob(input) {
        if (!ending.has(input.jobId)) return store.getJob(input);
        const stored = sim.ask<StoredJob>("getJob", input);
        return { ...stored, job: { ...stored.job, status: "completed" } };
      },
    };
  },

  "a change has no event": (store, sim) => ({
    async changeJobs(input) {
      const answers = await store.changeJobs(input);
      const renewed = input.changes.find(({ change }) => change.act === "renew" || change.act === "start");
      if (renewed !== undefined)
        sim.edit("UPDATE jobs SET attempt = attempt + 1 WHERE id = ?", renewed.jobId);
      return answers;
    },
  }),

  "an end needs no fence": (store, sim) => ({
    changeJobs: (input) =>
      store.changeJobs({ ...input, changes: input.changes.map((change) => unfenced(change, sim)) }),
  }),

  "the same key makes another job": (store) => ({
    submitJobs: (input) =>
      store.submitJobs({
        ...input,
        jobs: input.jobs.map((job) => ({ ...job, idempotencyKey: keyOf(job.id) })),
      }),
  }),

  "a cancel is answered and forgotten": (store, sim) => ({
    async changeJobs(input) {
      if (!input.changes.some(({ change }) => change.act === "cancel")) return store.changeJobs(input);
      return input.changes.map(({ jobId }) => ({ kind: "moved", job: jobOf(sim, jobId) }));
    },
  }),

  "leases never end": () => ({ reapJobs: async () => ({ reaped: 0, more: false }) }),

  "a restart forgets the newest job": (store, sim) => ({
    graceLeases(input) {
      sim.edit("DELETE FROM jobs WHERE seq = (SELECT max(seq) FROM jobs)");
      return store.graceLeases(input);
    },
  }),

  "an end is counted twice": (store, sim) => ({
    async changeJobs(input) {
      const answers = await store.changeJobs(input);
      if (answers.some((answer) => answer.kind === "moved" && answer.job.status === "completed"))
        sim.edit("UPDATE tallies SET value = value + 1 WHERE name = ?", "jobs.completed");
      return answers;
    },
  }),
};

function jobOf(sim: SimStore, jobId: string): StoredJob["job"] {
  return sim.ask<StoredJob>("getJob", { jobId }).job;
}

function movedTo(job: StoredJob["job"], status: "completed"): ChangeAnswer {
  return { kind: "moved", job: { ...job, status } };
}

function keyOf(jobId: string): string {
  return `sha256:${jobId.replaceAll("-", "").padEnd(64, "0")}`;
}

/** As if the worker that holds the job now had sent it. */
function unfenced(change: JobChange, sim: SimStore): JobChange {
  if (change.change.act !== "result") return change;
  const { workerId } = jobOf(sim, change.jobId);
  if (workerId === null) return change;
  return { ...change, change: { ...change.change, fence: { workerId, attempt: null, tokenHash: null } } };
}
