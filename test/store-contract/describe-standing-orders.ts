import { describe, expect, it } from "vitest";
import type { NewEvent } from "../../src/core/events.ts";
import type { Firing, StandingOrder } from "../../src/store/order-store.ts";
import { origin, type Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";
import { useScene } from "./use-scene.ts";

const order: StandingOrder = {
  kind: "schedule",
  tenantId: "acme",
  name: "nightly",
  id: "o1",
  userId: "u1",
  revision: 1,
  nextAt: 100,
  cursor: 50,
  state: "{}",
  seal: "s",
};
const event: NewEvent = {
  event: "SCHEDULE_CHANGED",
  ts: 1,
  tenantId: "acme",
  jobId: null,
  ownerId: "u1",
  details: { schedule: "nightly" },
  origin,
};
const most = 10;

export function describeStandingOrders(create: () => StoreUnderTest): void {
  describe("standing orders", () => {
    const scene = useScene(create);
    const put = (given: StandingOrder, revisionBefore: number | null = null) =>
      scene().store.putOrder({ order: given, revisionBefore, events: [event], most });
    const firingOf = (parts: Partial<Firing> = {}): Firing => ({
      order: { ...order, revision: 2, nextAt: 200, cursor: 100 },
      revisionBefore: 1,
      events: [{ ...event, event: "SCHEDULE_FIRED" }],
      occurrences: [{ occurrence: "one", at: 100, outcome: "fired", job: scene().newJob() }],
      endedJobId: null,
      maxPending: null,
      nowMs: 100,
      origin: null,
      ...parts,
    });
    const fire = async (...firings: Firing[]) => scene().store.fireOrders({ firings });
    const kinds = async (from: Scene) =>
      (await from.store.readEvents({ afterSeq: 0, limit: 99 })).map((logged) => logged.event);

    it("that do not exist are not found, fired or removed", async () => {
      const { store } = scene();
      const name = { kind: "schedule", tenantId: "acme", name: "nightly" } as const;
      expect(await store.getOrder(name)).toBeNull();
      expect(await store.removeOrder({ ...name, revision: 1, events: [event] })).toBe(false);
      expect(await fire(firingOf())).toEqual([{ kind: "moved" }]);
      expect(await store.listDueOrders({ kind: "schedule", nowMs: 1e9, limit: 9 })).toEqual({
        orders: [],
        nextAt: null,
      });
      expect(await kinds(scene())).toEqual([]);
    });

    it("are no more than allowed, and have one name each in their tenant and kind", async () => {
      expect(await put(order)).toBe("kept");
      expect(await put({ ...order, id: "o2" })).toBe("moved");
      expect(await put({ ...order, id: "o3", kind: "hook" })).toBe("kept");
      expect(await put({ ...order, id: "o4", tenantId: "globex" })).toBe("kept");
      const more = { ...order, id: "o5", name: "more" };
      expect(
        await scene().store.putOrder({ order: more, revisionBefore: null, events: [event], most: 1 }),
      ).toBe("too_many");
      expect(await kinds(scene())).toHaveLength(3);
    });

    it("change only from the revision that the caller has read", async () => {
      await put(order);
      const changed = { ...order, revision: 2, state: '{"a":1}', nextAt: null };
      expect(await put(changed, 7)).toBe("moved");
      expect(await put(changed, 1)).toBe("kept");
      expect(await put({ ...changed, state: "late" }, 1)).toBe("moved");
      await scene().reopen();
      expect(await scene().store.getOrder(order)).toEqual(changed);
    });

    it("are listed by tenant, user and name, in pages", async () => {
      const list = { kind: "schedule", userId: null, after: null, limit: 9 } as const;
      for (const [id, tenantId, name, userId] of [
        ["a", "acme", "b", "u1"],
        ["b", "acme", "a", "u2"],
        ["c", "globex", "a", "u1"],
      ] as const)
        await put({ ...order, id, tenantId, name, userId });
      const ids = async (parts: object) =>
        (await scene().store.listOrders({ ...list, tenantId: null, ...parts })).map(({ id }) => id);
      expect(await ids({})).toEqual(["b", "a", "c"]);
      expect(await ids({ tenantId: "acme" })).toEqual(["b", "a"]);
      expect(await ids({ userId: "u1" })).toEqual(["a", "c"]);
      expect(await ids({ limit: 1, after: { tenantId: "acme", name: "a" } })).toEqual(["a"]);
      expect(await ids({ kind: "hook" })).toEqual([]);
    });

    it("are due in order of their time, and those too far ahead are found", async () => {
      await put(order);
      await put({ ...order, id: "o2", name: "later", nextAt: 300, cursor: 1_000 });
      await put({ ...order, id: "o3", name: "never", nextAt: null });
      const due = async (nowMs: number, limit = 9) => {
        const { orders, nextAt } = await scene().store.listDueOrders({ kind: "schedule", nowMs, limit });
        return [orders.map(({ id }) => id), nextAt];
      };
      expect(await due(99)).toEqual([[], 100]);
      expect(await due(300)).toEqual([["o1", "o2"], 100]);
      expect(await due(300, 1)).toEqual([["o1"], 100]);
      const ahead = { kind: "schedule", afterMs: 900, afterId: "", limit: 9 } as const;
      expect((await scene().store.listOrdersAhead(ahead)).map(({ id }) => id)).toEqual(["o2"]);
    });

    it("hazard 1: move together with their jobs, or not at all, and of two hubs one moves them", async () => {
      await put(order);
      const [first, second] = [firingOf(), firingOf()];
      const other = await scene().openAnother();
      const both = await Promise.all([fire(first), other.fireOrders({ firings: [second] })]);
      expect(both.map(([outcome]) => outcome!.kind).sort()).toEqual(["fired", "moved"]);
      const made = [first, second].map((firing) => firing.occurrences[0]!.job!.id);
      const jobs = await Promise.all(made.map((jobId) => scene().store.getJob({ jobId })));
      expect(jobs.filter((job) => job !== null)).toHaveLength(1);
      expect(await scene().store.getOrder(order)).toMatchObject({ revision: 2, nextAt: 200, cursor: 100 });
      expect(await kinds(scene())).toEqual(["SCHEDULE_CHANGED", "JOB_CREATED", "SCHEDULE_FIRED"]);
    });

    it("hazard 1: make one job of an occurrence, even when they have come back to it", async () => {
      await put(order);
      await fire(firingOf());
      const again = firingOf({
        order: { ...order, revision: 3, cursor: 100 },
        revisionBefore: 2,
        occurrences: [
          { occurrence: "one", at: 100, outcome: "fired", job: scene().newJob() },
          { occurrence: "two", at: 110, outcome: "fired", job: scene().newJob() },
        ],
      });
      expect(await fire(again)).toEqual([{ kind: "noted", occurrences: ["one"] }]);
      expect(await scene().store.getOrder(order)).toMatchObject({ revision: 2 });
      const { count } = await scene().store.countJobs({});
      expect(count).toBe(1);
    });

    it("fire one that was skipped, when somebody asks for it later", async () => {
      await put(order);
      const skipped = { occurrence: "one", at: 100, outcome: "skipped", job: null } as const;
      await fire(firingOf({ occurrences: [skipped] }));
      const list = { orderId: "o1", limit: 9 };
      expect(await scene().store.listOccurrences(list)).toMatchObject([{ outcome: "skipped", jobId: null }]);
      const later = firingOf({ order: { ...order, revision: 3 }, revisionBefore: 2 });
      expect(await fire(later)).toMatchObject([{ kind: "fired" }]);
      const id = later.occurrences[0]!.job!.id;
      expect(await scene().store.listOccurrences(list)).toMatchObject([{ outcome: "fired", jobId: id }]);
    });

    it("wait while the job before is active, and are not held up by one that is gone", async () => {
      await put(order);
      const running = await scene().submit();
      expect(await fire(firingOf({ endedJobId: running }))).toEqual([{ kind: "busy" }]);
      expect(await fire(firingOf({ endedJobId: scene().newId() }))).toMatchObject([{ kind: "fired" }]);
    });

    it("hazard 8: are refused by a quota with nothing written, and others in the call are not affected", async () => {
      await put(order);
      await put({ ...order, id: "o2", name: "other" });
      const refused = firingOf({ maxPending: 0 });
      const other = firingOf({ order: { ...order, id: "o2", name: "other", revision: 2 } });
      expect(await fire(refused, other)).toMatchObject([
        { kind: "over_quota", maxPending: 0 },
        { kind: "fired" },
      ]);
      expect(await scene().store.getOrder(order)).toMatchObject({ revision: 1, cursor: 50 });
      expect(await scene().store.listOccurrences({ orderId: "o1", limit: 9 })).toEqual([]);
    });

    it("take what is noted of them along when they are removed", async () => {
      await put(order);
      await fire(firingOf());
      const { store } = scene();
      expect(await store.removeOrder({ ...order, revision: 1, events: [event] })).toBe(false);
      expect(await store.removeOrder({ ...order, revision: 2, events: [event] })).toBe(true);
      expect(await store.getOrder(order)).toBeNull();
      expect(await store.listOccurrences({ orderId: "o1", limit: 9 })).toEqual([]);
    });
  });
}
