import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fireDueSchedules } from "../../src/hub/use-cases/schedules/fire-schedules.ts";
import { resetAllSchedules, resetSchedulesAhead } from "../../src/hub/use-cases/schedules/reset-schedules.ts";
import { readSchedule, scheduleOrder } from "../../src/hub/use-cases/schedules/schedule-record.ts";
import { errorOf } from "../support/call-http.ts";
import { freshName } from "../support/jobs.ts";
import { ScheduleHub } from "../support/schedules/schedule-hub.ts";
import { issueToken } from "../support/tokens.ts";

let at: ScheduleHub;
beforeAll(async () => {
  at = await ScheduleHub.start("2026-03-01T00:00:00Z");
});
afterAll(() => at.hub.stop());

const dayMs = 86_400_000;

describe("hazards of schedules", () => {
  test.each(["schedules.beforeCommit", "schedules.afterCommit"])(
    "1: a hub that dies at %s loses no occurrence, and makes none twice",
    async (place) => {
      const { token } = await at.newOwner();
      await at.put(token, { every_sec: 60 });
      at.pass(60_000);
      at.onFailpoint((name) => {
        if (name === place) throw new Error("killed");
      });
      await expect(fireDueSchedules(at.deps)).rejects.toThrow("killed");
      at.onFailpoint(() => {});
      await at.fire();
      expect(await at.firedOf(token)).toHaveLength(1);
    },
  );

  test("1: of three hubs that fire at once, each occurrence makes one job", async () => {
    const { token } = await at.newOwner();
    for (let count = 0; count < 150; count++)
      await at.put(token, { every_sec: 60, overlap: "allow" }, `s${count}`);
    const hubs = [await at.another(), await at.another()];
    for (let round = 0; round < 3; round++) {
      at.pass(60_000);
      await Promise.all([at.fire(), ...hubs.map(({ deps }) => at.fire(deps))]);
    }
    for (const { stop } of hubs) await stop();
    const fired = await at.firedOf(token);
    expect(fired).toHaveLength(450);
    expect(new Set(fired).size).toBe(3);
  });

  test("2: another hub fires what was due while none was there", async () => {
    const { token } = await at.newOwner();
    await at.put(token, { every_sec: 3_600 });
    const other = await at.another();
    at.pass(3_600_000 + 1_800_000);
    await at.fire(other.deps);
    await other.stop();
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
  });

  test("3: after 40 days one, none or a hundred are fired, and then the next", async () => {
    const { token, tenant } = await at.newOwner();
    const every = { cron: "* * * * * *", overlap: "allow" };
    for (const catch_up of ["latest", "none", "all"]) await at.put(token, { ...every, catch_up }, catch_up);
    at.pass(40 * dayMs);
    await at.fire();
    const count = async (name: string) => (await at.firedOf(token, name)).length;
    expect([await count("latest"), await count("none"), await count("all")]).toEqual([1, 0, 100]);
    const skipped = await at.eventsOf(tenant, "SCHEDULE_SKIPPED");
    expect(skipped).toContainEqual({ schedule: "none", missed: 1_000, reason: "catch_up" });
    at.pass(1_000);
    await at.fire();
    expect([await count("latest"), await count("none"), await count("all")]).toEqual([2, 1, 101]);
    for (const name of ["latest", "none", "all"])
      await at.hub.must("DELETE", `/schedules/${name}`, { token });
  });

  test("4: a time in the gap fires at its end, and in the repeated hour once", async () => {
    const { token } = await at.newOwner();
    const year = new Date(at.nowMs).getUTCFullYear() + 1;
    const [spring, autumn] = [lastSunday(year, 3), lastSunday(year, 10)];
    at.at(new Date(spring - dayMs / 2).toISOString());
    const name = await at.put(token, { cron: "30 2 * * *", time_zone: "Europe/Berlin", overlap: "allow" });
    const firedAt: string[] = [];
    for (const day of [spring, autumn]) {
      at.at(new Date(day - dayMs / 2).toISOString());
      await at.fire();
      for (let minutes = 0; minutes <= 180; minutes += 30) {
        at.at(new Date(day + minutes * 60_000).toISOString());
        const before = (await at.firedOf(token)).length;
        await at.fire();
        if ((await at.firedOf(token)).length > before)
          firedAt.push(new Date(at.nowMs).toISOString().slice(11, 16));
      }
    }
    expect(firedAt).toEqual(["01:00", "00:30"]);
    const fired = await at.firedOf(token, name);
    for (const day of [spring, autumn])
      expect(fired).toContain(`${new Date(day).toISOString().slice(0, 10)}T02:30:00[Europe/Berlin]`);
  });

  test.each([-1_000, -3_599_000, -dayMs, -365 * dayMs, dayMs, 365 * dayMs])(
    "6: a clock that moves by %i ms fires nothing twice, and is not silent",
    async (by) => {
      const { token, tenant } = await at.newOwner();
      const name = await at.put(token, { every_sec: 1_800, overlap: "allow" });
      at.pass(1_800_000);
      await at.fire();
      at.pass(by);
      await at.fire();
      // The clock is right again.
      at.pass(-by);
      const reason = "the clock was set back";
      await resetSchedulesAhead(at.deps, { afterMs: at.nowMs + 3_600_000, reason });
      await at.fire();
      at.pass(1_800_000);
      await at.fire();
      const fired = await at.firedOf(token);
      expect(new Set(fired).size).toBe(fired.length);
      const due = new Date(at.nowMs).toISOString().replace(".000", "");
      expect(fired).toContain(due);
      expect(await at.eventsOf(tenant, "SCHEDULE_RESET")).toHaveLength(by >= dayMs ? 1 : 0);
      await at.hub.must("DELETE", `/schedules/${name}`, { token });
    },
  );

  test("7: after an old backup, nothing is fired that was due meanwhile", async () => {
    const { token, tenant } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60, catch_up: "all", overlap: "allow" });
    at.pass(600_000);
    await resetAllSchedules(at.deps, "the hub continues with an older database");
    await at.fire();
    expect(await at.firedOf(token)).toEqual([]);
    expect(await at.eventsOf(tenant, "SCHEDULE_RESET")).toMatchObject([{ schedule: name, to: at.nowMs }]);
    at.pass(60_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
  });

  test("8: an owner without rights is told, and the occurrence fires late and once when they are back", async () => {
    const { token, tokenId, tenant } = await at.newOwner();
    const name = await at.put(token, { every_sec: 3_600 });
    await at.hub.must("DELETE", `/tokens/${tokenId}`, { token: at.hub.admin });
    at.pass(3_600_000);
    await at.fire();
    at.pass(15_000);
    await at.fire();
    const asAdmin = (await issueToken(at.hub, { role: "admin", tenant_id: tenant, user_id: "ops" })).token;
    const view = (await at.hub.must("GET", `/schedules/${name}`, { token: asAdmin })).json();
    expect(view).toMatchObject({ state: "blocked", waiting: 1 });
    const [blocked, ...others] = await at.eventsOf(tenant, "SCHEDULE_BLOCKED");
    expect(others).toEqual([]);
    expect(blocked).toMatchObject({ reason: expect.stringContaining("no valid token") });
    await issueToken(at.hub, { role: "user", tenant_id: tenant, user_id: "ann" });
    at.pass(15_000);
    await at.fire();
    at.pass(15_000);
    await at.fire();
    expect(await at.firedOf(asAdmin)).toHaveLength(1);
    expect((await at.hub.must("GET", `/schedules/${name}`, { token: asAdmin })).json()).toMatchObject({
      state: "active",
    });
  });

  test("8: a full quota holds a schedule back, and gives up after its window", async () => {
    const { token, tenant } = await at.newOwner();
    const quota = (body: object) =>
      at.hub.must("PUT", `/tenants/${tenant}/quota`, { token: at.hub.admin, body });
    await quota({ max_pending: 0 });
    const name = await at.put(token, { every_sec: 86_400, catch_up_sec: 600 });
    at.pass(dayMs);
    await at.fire();
    expect(await at.get(token, name)).toMatchObject({ state: "blocked", waiting: 1 });
    at.pass(601_000);
    await at.fire();
    expect(await at.get(token, name)).toMatchObject({ waiting: 0, past: [{ outcome: "skipped" }] });
    await quota({});
    at.pass(dayMs - 601_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
  });

  test("a row that was changed behind the hub's back never fires, and is reported once", async () => {
    const { token, tenant } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60 });
    const order = (await at.deps.store.getOrder({ kind: "schedule", tenantId: tenant, name }))!;
    const forged = { ...order, userId: "root" };
    await at.deps.store.putOrder({ order: forged, revisionBefore: order.revision, events: [], most: 9 });
    at.pass(60_000);
    await at.fire();
    at.pass(60_000);
    await at.fire();
    expect(await at.firedOf(token)).toEqual([]);
    expect(await at.eventsOf(tenant, "SECURITY_VIOLATION")).toMatchObject([{ schedule: name }]);
    const admin = (await issueToken(at.hub, { role: "admin", tenant_id: tenant, user_id: "ops" })).token;
    const answer = await at.hub.call("GET", `/schedules/${name}`, { token: admin });
    expect([answer.status, errorOf(answer.text).code]).toEqual([500, "STORE_CORRUPT"]);
    expect((await at.hub.must("GET", "/schedules", { token: admin })).json()).toMatchObject([
      { state: "damaged" },
    ]);
    expect((await at.hub.must("DELETE", `/schedules/${name}`, { token: admin })).status).toBe(204);
  });

  test("9: of 10,000 that are due at midnight, each is fired once", async () => {
    const { token, tenant } = await at.newOwner();
    const count = 10_000;
    const first = await at.put(token, { every_sec: 86_400 });
    const { store, keys } = at.deps;
    const order = (await store.getOrder({ kind: "schedule", tenantId: tenant, name: first }))!;
    const schedule = readSchedule(order);
    const adding = Array.from({ length: count - 1 }, (_, index) => {
      const made = { schedule: { ...schedule, id: freshName("id") }, nextAtMs: order.nextAt };
      const whose = { ...order, name: `herd-${index}`, revision: 0 };
      const change = { order: scheduleOrder(keys.macKey, whose, made), revisionBefore: null, events: [] };
      return store.putOrder({ ...change, most: count });
    });
    expect(new Set(await Promise.all(adding))).toEqual(new Set(["kept"]));
    at.pass(dayMs);
    const other = await at.another();
    await Promise.all([at.fire(), at.fire(other.deps)]);
    await other.stop();
    const fired = await at.eventsOf(tenant, "SCHEDULE_FIRED");
    expect(fired).toHaveLength(count);
    expect(new Set(fired.map(({ schedule: name }) => name)).size).toBe(count);
    expect(new Set(fired.map(({ job_id }) => job_id)).size).toBe(count);
    expect(await at.eventsOf(tenant, "JOB_CREATED")).toHaveLength(count);
  });
});

function lastSunday(year: number, month: number): number {
  const last = Date.UTC(year, month, 0);
  return last - new Date(last).getUTCDay() * dayMs;
}
