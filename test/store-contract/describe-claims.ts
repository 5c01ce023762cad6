import { describe, expect, it } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import type { QueueFacts, WorkerFacts } from "../../src/core/jobs/queue-key.ts";
import { tokenOfAttempt } from "../../src/signing/batch-lease.ts";
import type { ClaimedJob } from "../../src/store/store.ts";
import { leaseMs, sha256 } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const routes: {
  what: string;
  facts: Partial<QueueFacts>;
  no: Partial<WorkerFacts>;
  yes: Partial<WorkerFacts>;
}[] = [
  { what: "another tenant", facts: { tenant_id: "b" }, no: { tenantId: "c" }, yes: { tenantId: "b" } },
  { what: "another type", facts: { type: "t" }, no: { types: ["build"] }, yes: { types: ["t"] } },
  {
    what: "another location",
    facts: { execution_location: "CLOUD" },
    no: {},
    yes: { location: "CLOUD" },
  },
  { what: "a tag it lacks", facts: { tags: ["gpu"] }, no: { tags: ["x"] }, yes: { tags: ["x", "gpu"] } },
  {
    what: "another session",
    facts: { session: "s" },
    no: { sessions: ["r"] },
    yes: { sessions: ["r", "s"] },
  },
  { what: "a kind it does not run", facts: { kind: "solver" }, no: {}, yes: { kinds: ["solver"] } },
  {
    what: "a container it lacks",
    facts: { container: "c" },
    no: { containers: ["d"] },
    yes: { containers: ["d", "c"] },
  },
  {
    what: "a format it cannot read",
    facts: { document_format: 3 },
    no: { documentFormat: 2 },
    yes: { documentFormat: 3 },
  },
  {
    what: "a model it lacks",
    facts: { provider: "OLLAMA", model: "m" },
    no: { capabilities: [{ provider: "OLLAMA", model: "n" }] },
    yes: { capabilities: [{ provider: "OLLAMA", model: "m" }] },
  },
  { what: "more cores", facts: { cores: 5 }, no: {}, yes: { cores: 5 } },
  { what: "more memory", facts: { ram_gb: 16 }, no: {}, yes: { ramGb: 16 } },
  { what: "a handler it does not name", facts: { kind: "handler" }, no: {}, yes: { types: ["build"] } },
];

export function describeClaims(create: () => StoreUnderTest): void {
  describe("claiming", () => {
    const scene = useScene(create);

    it("gives nothing when there is nothing", async () => {
      expect(await scene().claimUpTo(5)).toEqual({ claimed: [], refused: [] });
    });

    for (const { what, facts, no, yes } of routes) {
      it(`gives no worker a job for ${what}`, async () => {
        const id = await scene().submit({ facts });
        expect(await scene().claimIds(5, no)).toEqual([]);
        expect(await scene().claimIds(5, yes)).toEqual([id]);
      });
    }

    it("gives no job before its time, and then does", async () => {
      const id = await scene().submit({ runAt: scene().nowMs + 5_000 });
      scene().nowMs += 4_999;
      expect(await scene().claimIds(1)).toEqual([]);
      scene().nowMs += 1;
      expect(await scene().claimIds(1)).toEqual([id]);
    });

    it("waits again when the clock is set back before a job that was due", async () => {
      const id = await scene().submit({ runAt: scene().nowMs + 5_000 });
      await scene().store.promoteJobs({ nowMs: scene().nowMs + 5_000, limit: 10 });
      expect(await scene().claimIds(1)).toEqual([]);
      scene().nowMs += 5_000;
      expect(await scene().claimIds(1)).toEqual([id]);
    });

    it("gives no job twice", async () => {
      await scene().submit();
      const claims = await Promise.all(Array.from({ length: 20 }, () => scene().claimUpTo(1)));
      expect(claims.flatMap(({ claimed }) => claimed)).toHaveLength(1);
    });

    it("gives no more than was asked for", async () => {
      for (let made = 0; made < 5; made++) await scene().submit();
      expect(await scene().claimIds(2)).toHaveLength(2);
    });

    it("gives each attempt the token that follows from the claim's secret, and keeps its hash", async () => {
      const ids = [await scene().submit(), await scene().submit()];
      const input = { workerId: "w1", worker: plainWorker, max: 2, bytesMax: 1_000, rules: scene().rules };
      const { claimed } = await scene().store.claimJobs({ ...input, leaseSecret: "one secret" });
      expect(claimed.map(({ leaseToken }) => leaseToken)).toEqual(
        ids.map((id) => tokenOfAttempt("one secret", id, 1)),
      );
      const [{ job, leaseToken }] = claimed as [ClaimedJob, ClaimedJob];
      const stored = await scene().store.getJob({ jobId: job.id });
      expect(stored?.job.leaseTokenHash).toBe(sha256(leaseToken));
    });

    it("gives no more bytes than were allowed, but always one job", async () => {
      for (let made = 0; made < 3; made++) await scene().submit({ document: "x".repeat(600) });
      const claim = {
        workerId: "w1",
        worker: plainWorker,
        max: 3,
        leaseSecret: "one",
        rules: scene().rules,
      };
      expect((await scene().store.claimJobs({ ...claim, bytesMax: 10 })).claimed).toHaveLength(1);
      const rest = await scene().store.claimJobs({ ...claim, leaseSecret: "two", bytesMax: 1_200 });
      expect(rest.claimed).toHaveLength(2);
    });

    it("takes a job that has just become due, although a later one was claimed before", async () => {
      const id = await scene().submit({ runAt: scene().nowMs + 500 });
      await scene().submitAndClaim();
      scene().nowMs += 500;
      expect((await scene().claimUpTo(1)).claimed.map(({ job }) => job.id)).toEqual([id]);
    });

    it("takes the highest priority first, and the oldest among equals, across queues", async () => {
      const old = await scene().submit({ priority: 5, facts: { tags: ["a"] } });
      const young = await scene().submit({ priority: 5 });
      const low = await scene().submit({ priority: 1 });
      const high = await scene().submit({ priority: 9, facts: { tags: ["b"] } });
      expect(await scene().claimIds(4, { tags: ["a", "b"] })).toEqual([high, old, young, low]);
    });

    it("reads on when a queue is longer than a page", async () => {
      const jobs = Array.from({ length: 200 }, () => scene().newJob());
      await scene().submitAll(jobs);
      expect(await scene().claimIds(150)).toEqual(jobs.slice(0, 150).map(({ id }) => id));
      expect(await scene().claimIds(150)).toEqual(jobs.slice(150).map(({ id }) => id));
    });

    it("lets tenants take turns, whatever their priorities", async () => {
      const many = Array.from({ length: 4 }, () => scene().newJob({ tenantId: "many", priority: 9 }));
      const few = Array.from({ length: 2 }, () => scene().newJob({ tenantId: "few", priority: 1 }));
      await scene().submitAll([...many, ...few]);
      const tenants = (await scene().claimUpTo(6)).claimed.map(({ job }) => job.tenantId);
      expect(tenants.slice(0, 4).filter((tenant) => tenant === "few")).toHaveLength(2);
      expect(tenants.slice(4)).toEqual(["many", "many"]);
    });

    it("remembers over a restart whose turn it is", async () => {
      for (const tenantId of ["a", "b"]) {
        for (let made = 0; made < 2; made++) await scene().submit({ tenantId });
      }
      const first = await scene().claim();
      await scene().reopen();
      const second = await scene().claim();
      expect([first.job.tenantId, second.job.tenantId].sort()).toEqual(["a", "b"]);
    });

    it("gives a tenant no more running jobs than its quota, and goes on when one has ended", async () => {
      for (let made = 0; made < 3; made++) await scene().submit();
      const quota = { max_running: 2 };
      await scene().store.putQuota({ tenantId: "acme", quota, nowMs: scene().nowMs, origin: null });
      const { claimed } = await scene().claimUpTo(3);
      expect(claimed).toHaveLength(2);
      expect(await scene().claimIds(1)).toEqual([]);
      scene().notices = [];
      await scene().changeJob(claimed[0]!.job.id, { act: "cancel" });
      await scene().change(claimed[0]!, { act: "release", reason: "stopped" });
      expect(scene().notices.some(({ ready }) => ready.length > 0)).toBe(true);
      expect(await scene().claimIds(1)).toHaveLength(1);
    });

    it("leases with a new attempt, a hashed token and a time", async () => {
      await scene().submit();
      const { job, leaseToken } = await scene().claim();
      const stored = await scene().job(job.id);
      expect(stored).toMatchObject({
        status: "assigned",
        workerId: "w1",
        attempt: 1,
        attempts: 1,
        claimedAt: scene().nowMs,
        leaseTokenHash: sha256(leaseToken),
        leaseExpiresAt: scene().nowMs + leaseMs,
      });
      expect(stored).toMatchObject(job);
    });
  });
}
