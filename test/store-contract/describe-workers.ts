import { describe, expect, it } from "vitest";
import { plainWorker } from "../../src/core/jobs/queue-key.testing.ts";
import { failureOf, fenceOf, leaseMs, resultOf } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

export function describeWorkers(create: () => StoreUnderTest): void {
  describe("workers", () => {
    const scene = useScene(create);

    const heartbeat = (leases: Parameters<typeof fenceOf>[0][] = [], workerId = "w1") =>
      scene().store.heartbeatWorker({
        workerId,
        capabilities: null,
        leases: leases.map((claimed) => ({ jobId: claimed.job.id, fence: fenceOf(claimed) })),
        rules: scene().rules,
      });

    it("that are not registered have no heartbeat, no metrics and nothing to set or remove", async () => {
      const { store, nowMs, rules } = scene();
      expect(await heartbeat()).toBeNull();
      expect(await store.getWorker({ workerId: "w1" })).toBeNull();
      expect(await store.setWorker({ workerId: "w1", set: {}, nowMs, origin: null })).toBeNull();
      expect(await store.removeWorker({ workerId: "w1", rules, origin: null, by: "worker" })).toBe("unknown");
      const metrics = { workerId: "w1", ts: 1, metrics: "{}", keepSince: 0, keepUntil: 9, keepMax: 9 };
      expect(await store.saveWorkerMetrics(metrics)).toBe(false);
    });

    it("keep the key they came with until they are removed", async () => {
      expect(await scene().register({ publicKey: "a" })).toBe("ok");
      expect(await scene().register({ publicKey: "b" })).toBe("key_conflict");
      expect(await scene().register({ publicKey: null, slots: 7 })).toBe("ok");
      expect(await scene().store.getWorker({ workerId: "w1" })).toMatchObject({ publicKey: "a", slots: 7 });
      await scene().store.removeWorker({ workerId: "w1", rules: scene().rules, origin: null, by: "worker" });
      expect(await scene().register({ publicKey: "b" })).toBe("ok");
    });

    it("are removed by a process only if no other process has registered under the name since", async () => {
      const { rules } = scene();
      const removeAs = (bootId?: string) =>
        scene().store.removeWorker({ workerId: "w1", bootId, rules, origin: null, by: "worker" });
      await scene().register({ facts: { ...plainWorker, bootId: "first" } });
      await scene().register({ facts: { ...plainWorker, bootId: "second" } });
      const held = await scene().submitAndStart();
      expect(await removeAs("first")).toBe("replaced");
      expect(await scene().job(held.job.id)).toMatchObject({ status: "running" });
      expect(await removeAs("second")).toBe("ok");
      expect(await removeAs("second")).toBe("unknown");
      for (const [registered, leaves] of [
        ["first", undefined],
        [undefined, "second"],
      ]) {
        await scene().register({ facts: { ...plainWorker, bootId: registered } });
        expect(await removeAs(leaves)).toBe("ok");
      }
    });

    it("O-09: register again, and get another owner, also with a NUL in what they are", async () => {
      const { store } = scene();
      const facts = { ...plainWorker, tenantId: "acme", sessions: ["a\0b"], tags: ["\\u0000"] };
      expect(await scene().register({ facts })).toBe("ok");
      expect(await scene().register({ facts })).toBe("ok");
      expect(await store.getWorkerOwner({ workerId: "w1", nowMs: 1 })).toEqual({ tenantId: "acme" });
      const token = { id: "t1", secretHash: "h", role: "worker" as const, tenantId: "other", userId: "u1" };
      const issued = { ...token, workerId: "w1", createdAt: 1, expiresAt: null };
      expect(await store.createToken({ token: issued, mayMove: true, origin: null })).toBe(true);
      expect(await store.getWorker({ workerId: "w1" })).toMatchObject({
        facts: { ...facts, tenantId: "other" },
      });
    });

    it("are shown as they registered, with what they hold and have done", async () => {
      await scene().register({ name: "one", keyIds: ["k"] });
      await scene().change(await scene().submitAndClaim(), resultOf("1"));
      await scene().change(await scene().submitAndClaim(), failureOf("INVALID_JOB"));
      await scene().change(await scene().submitAndClaim(), { act: "release", reason: "drain" });
      await scene().submitAndStart();
      expect(await scene().store.listWorkers()).toEqual([
        {
          ...scene().registration({ name: "one", keyIds: ["k"] }),
          status: "active",
          blocked: false,
          draining: false,
          refusedClaims: 0,
          pausedUntil: null,
          registeredAt: scene().nowMs,
          lastHeartbeat: scene().nowMs,
          currentJobs: 1,
          jobCounts: { completed: 1, failed: 1 },
        },
      ]);
    });

    it("renew exactly the leases that they name, and hear what is cancelled and what is lost", async () => {
      await scene().register();
      const kept = await scene().submitAndStart();
      const cancelled = await scene().submitAndStart();
      const unnamed = await scene().submitAndClaim();
      await scene().cancel(cancelled.job.id);
      const gone = await scene().submitAndStart();
      await scene().change(gone, resultOf("1"));
      scene().nowMs += 30_000;
      expect(await heartbeat([kept, cancelled, gone])).toEqual({
        cancel: [cancelled.job.id],
        lost: [gone.job.id],
        draining: false,
        blocked: false,
      });
      expect((await scene().job(kept.job.id)).leaseExpiresAt).toBe(scene().nowMs + leaseMs);
      expect((await scene().job(unnamed.job.id)).leaseExpiresAt).toBe(scene().nowMs - 30_000 + leaseMs);
    });

    it("may change their capabilities with a heartbeat", async () => {
      await scene().register();
      const capabilities = [{ provider: "OLLAMA" as const, model: "m" }];
      await scene().store.heartbeatWorker({ workerId: "w1", capabilities, leases: [], rules: scene().rules });
      const worker = await scene().store.getWorker({ workerId: "w1" });
      expect(worker?.facts).toEqual({ ...plainWorker, capabilities });
    });

    it("stay blocked when they register again, but no longer drain", async () => {
      await scene().register();
      const set = { blocked: true, draining: true };
      const { nowMs } = scene();
      await scene().store.setWorker({ workerId: "w1", set, nowMs, origin: null });
      expect(await heartbeat()).toMatchObject(set);
      await scene().register();
      expect(await heartbeat()).toMatchObject({ blocked: true, draining: false });
      const off = { workerId: "w1", set: { blocked: false }, nowMs, origin: null };
      expect(await scene().store.setWorker(off)).toMatchObject({ blocked: false });
      const events = await scene().store.readEvents({ afterSeq: 0, limit: 9 });
      expect(events.map(({ event }) => event)).toEqual([
        "WORKER_REGISTERED",
        "WORKER_BLOCKED",
        "WORKER_DRAINED",
        "WORKER_REGISTERED",
        "WORKER_UNBLOCKED",
      ]);
    });

    it("are recorded once, however often they register as what they are", async () => {
      for (let count = 0; count < 3; count++) await scene().register();
      const events = await scene().store.readEvents({ afterSeq: 0, limit: 9 });
      expect(events.map(({ event }) => event)).toEqual(["WORKER_REGISTERED"]);
    });

    const refuse = (claims: Parameters<typeof fenceOf>[0][], workerId = "w1") =>
      scene().store.refuseClaim({
        workerId,
        leases: claims.map((claimed) => ({ jobId: claimed.job.id, fence: fenceOf(claimed) })),
        refusal: { detail: "INVALID_SIGNATURE", reason: "it does not verify", evidence: {} },
        rules: scene().rules,
        origin: null,
      });

    it("O-10 that refuse a claim give its jobs back without charge, by their fences, and leave one record", async () => {
      expect(await refuse([])).toBeNull();
      await scene().register();
      const first = await scene().submitAndClaim({ maxAttempts: 1 });
      const second = await scene().submitAndClaim();
      await scene().change(second, resultOf("1"));
      const refused = await refuse([first, second]);
      expect(refused).toMatchObject({
        answers: [
          { kind: "moved", job: { status: "pending", attempts: 0, runAt: scene().nowMs } },
          { kind: "refused", code: "LEASE_LOST" },
        ],
        pausedUntil: scene().nowMs + 60_000,
        isNew: true,
      });
      // Whatever it held before, the same pause covers it.
      scene().nowMs += 59_999;
      expect(await refuse([])).toMatchObject({
        answers: [],
        pausedUntil: refused!.pausedUntil,
        isNew: false,
      });
      const events = await scene().store.readEvents({ afterSeq: 0, limit: 99, kinds: ["INVALID_SIGNATURE"] });
      expect(events).toMatchObject([{ details: { worker_id: "w1", jobs: 2, returned: 1 } }]);
      expect(await scene().store.getWorker({ workerId: "w1" })).toMatchObject({
        currentJobs: 0,
        jobCounts: { completed: 1, failed: 0 },
      });
    });

    it("O-10 are given nothing for twice as long each time, up to an hour, and start again after a good hour", async () => {
      await scene().register();
      const pauses: number[] = [];
      for (let count = 0; count < 8; count++) {
        const { pausedUntil } = (await refuse([]))!;
        pauses.push((pausedUntil - scene().nowMs) / 60_000);
        scene().nowMs = pausedUntil;
      }
      expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
      scene().nowMs += 3_600_000;
      expect((await refuse([]))!.pausedUntil).toBe(scene().nowMs + 60_000);
      await scene().store.removeWorker({ workerId: "w1", rules: scene().rules, origin: null, by: "worker" });
      await scene().register();
      const worker = await scene().store.getWorker({ workerId: "w1" });
      expect(worker).toMatchObject({ refusedClaims: 1, pausedUntil: scene().nowMs + 60_000 });
    });

    it("A3: stay known when they are removed while they are blocked, until they are unblocked", async () => {
      await scene().register({ publicKey: "a" });
      const claimed = await scene().submitAndStart();
      const set = (blocked: boolean) =>
        scene().store.setWorker({ workerId: "w1", set: { blocked }, nowMs: scene().nowMs, origin: null });
      const remove = () =>
        scene().store.removeWorker({ workerId: "w1", rules: scene().rules, origin: null, by: "worker" });
      await set(true);
      expect(await remove()).toBe("ok");
      expect((await scene().job(claimed.job.id)).status).toBe("pending");
      expect(await scene().store.getWorker({ workerId: "w1" })).toMatchObject({
        blocked: true,
        status: "inactive",
      });
      expect(await scene().register({ publicKey: "b" })).toBe("key_conflict");
      expect(await scene().register({ publicKey: "a" })).toBe("ok");
      expect(await heartbeat()).toMatchObject({ blocked: true });
      await set(false);
      await remove();
      expect(await scene().store.getWorker({ workerId: "w1" })).toBeNull();
    });

    it("A3: are blocked on evidence even if they have gone, and come back blocked", async () => {
      const why = { reason: "INVALID_SIGNATURE: it does not verify", evidence: 7 };
      const block = () => scene().store.blockWorker({ workerId: "w1", why, nowMs: scene().nowMs });
      expect(await block()).toBe(true);
      expect(await block()).toBe(false);
      expect(await scene().store.listWorkers()).toMatchObject([
        { id: "w1", blocked: true, status: "inactive" },
      ]);
      await scene().register({ slots: 3 });
      expect(await scene().store.getWorker({ workerId: "w1" })).toMatchObject({ blocked: true, slots: 3 });
      const events = await scene().store.readEvents({ afterSeq: 0, limit: 9 });
      expect(events.map(({ event }) => event)).toEqual(["WORKER_BLOCKED", "WORKER_REGISTERED"]);
      expect(events[0]!.details).toEqual({ worker_id: "w1", name: null, ...why });
    });

    it("A1: belong to the tenant that registered or enrolled them, whichever comes first", async () => {
      const { store, nowMs } = scene();
      const of = (tenantId: string | null) => ({ facts: { ...plainWorker, tenantId } });
      const owner = (workerId: string) => store.getWorkerOwner({ workerId, nowMs });
      expect(await owner("w1")).toBeNull();
      expect(await scene().register(of("acme"))).toBe("ok");
      expect(await scene().register(of("globex"))).toBe("not_yours");
      expect(await scene().register(of(null))).toBe("ok");
      expect(await owner("w1")).toEqual({ tenantId: "acme" });

      const token = (id: string, tenantId: string | null, workerId: string) => ({
        token: {
          ...{ id, secretHash: id, role: "worker" as const, tenantId, userId: "u", workerId },
          ...{ createdAt: nowMs, expiresAt: null },
        },
        origin: null,
      });
      expect(await store.createToken(token("t1", "globex", "w1"))).toBe(false);
      expect(await store.createToken(token("t2", "globex", "w2"))).toBe(true);
      expect(await scene().register({ id: "w2", ...of("acme") })).toBe("not_yours");
      expect(await store.createToken(token("t3", "acme", "w2"))).toBe(false);
      await store.revokeToken({ tokenId: "t2", nowMs, origin: null });
      expect(await owner("w2")).toBeNull();
    });

    it("A1: move to another tenant, without their key, when a token may move them", async () => {
      const { store, nowMs } = scene();
      const squatter = { facts: { ...plainWorker, tenantId: "globex" }, publicKey: "a" };
      await scene().register(squatter);
      const token = {
        ...{ id: "t1", secretHash: "h", role: "worker" as const, tenantId: "acme", userId: "u" },
        ...{ workerId: "w1", createdAt: nowMs, expiresAt: null },
      };
      expect(await store.createToken({ token, mayMove: true, origin: null })).toBe(true);
      expect(await scene().register(squatter)).toBe("not_yours");
      const honest = { facts: { ...plainWorker, tenantId: "acme" }, publicKey: "b" };
      expect(await scene().register(honest)).toBe("ok");
    });

    it("lose their jobs when they are removed", async () => {
      await scene().register();
      const claimed = await scene().submitAndStart();
      scene().notices = [];
      const input = { workerId: "w1", rules: scene().rules, origin: null, by: "person" as const };
      expect(await scene().store.removeWorker(input)).toBe("ok");
      expect(await scene().job(claimed.job.id)).toMatchObject({
        status: "pending",
        retryCounts: { WORKER_DISCONNECTED: 1 },
      });
      expect(scene().notices[0]!.signals).toMatchObject([{ workerId: "w1", signal: "lost" }]);
      expect(await scene().store.listWorkers()).toEqual([]);
    });

    it("O-12: become inactive but keep their jobs when they are silent, and come back with a heartbeat", async () => {
      await scene().register();
      const claimed = await scene().submitAndStart();
      const retire = () =>
        scene().store.retireSilentWorkers({ silentSince: scene().nowMs - 30_000, nowMs: scene().nowMs });
      expect(await retire()).toEqual({ retired: [] });
      scene().nowMs += 30_000;
      expect(await retire()).toEqual({ retired: ["w1"] });
      expect(await retire()).toEqual({ retired: [] });
      expect(await scene().job(claimed.job.id)).toMatchObject({ status: "running", workerId: "w1" });
      expect((await scene().change(claimed, { act: "renew" })).kind).toBe("moved");
      expect((await scene().store.getWorker({ workerId: "w1" }))?.status).toBe("inactive");
      await heartbeat();
      expect((await scene().store.getWorker({ workerId: "w1" }))?.status).toBe("active");
    });

    it("O-12: are active since their last sign of life, and neither unblocked nor undrained by it", async () => {
      const { store, nowMs } = scene();
      for (const id of ["w1", "w2"]) await scene().register({ id });
      await store.setWorker({ workerId: "w2", set: { blocked: true, draining: true }, nowMs, origin: null });
      await store.retireSilentWorkers({ silentSince: nowMs, nowMs });
      const at = (workerId: string, atMs: number) => ({ workerId, atMs });
      await store.noteSignsOfLife({ signs: [at("w2", nowMs + 7), at("w1", nowMs + 5), at("nobody", nowMs)] });
      expect(await store.listWorkers()).toMatchObject([
        { id: "w1", status: "active", lastHeartbeat: nowMs + 5 },
        { id: "w2", status: "active", lastHeartbeat: nowMs + 7, blocked: true, draining: true },
      ]);
      await store.noteSignsOfLife({ signs: [at("w1", nowMs + 3)] });
      expect(await store.getWorker({ workerId: "w1" })).toMatchObject({ lastHeartbeat: nowMs + 5 });
    });

    it("show their measurements of the time that is kept", async () => {
      await scene().register();
      const save = (ts: number, keepSince: number) =>
        scene().store.saveWorkerMetrics({
          workerId: "w1",
          ts,
          metrics: `{"n":${ts}}`,
          keepSince,
          keepUntil: 9,
          keepMax: 9,
        });
      await save(1, 0);
      await save(2, 0);
      expect(await save(3, 2)).toBe(true);
      expect(await scene().store.listWorkerMetrics({ workerId: "w1" })).toEqual([
        { ts: 2, metrics: '{"n":2}' },
        { ts: 3, metrics: '{"n":3}' },
      ]);
      expect(await scene().store.listWorkerMetrics({ workerId: "w1", newest: 1 })).toEqual([
        { ts: 3, metrics: '{"n":3}' },
      ]);
    });

    it("A18: keep no measurements of the future, and no more than are asked for", async () => {
      await scene().register();
      const save = (ts: number, keepUntil: number) =>
        scene().store.saveWorkerMetrics({
          workerId: "w1",
          ts,
          metrics: "{}",
          keepSince: 0,
          keepUntil,
          keepMax: 3,
        });
      const kept = async () =>
        (await scene().store.listWorkerMetrics({ workerId: "w1" })).map(({ ts }) => ts);
      await save(8_000_000_000_000, 8_000_000_000_000);
      await save(1, 1);
      expect(await kept()).toEqual([1]);
      for (const ts of [2, 3, 4, 5]) await save(ts, ts);
      expect(await kept()).toEqual([3, 4, 5]);
    });
  });
}
