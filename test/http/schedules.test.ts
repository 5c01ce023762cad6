import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorOf } from "../support/call-http.ts";
import { ScheduleHub } from "../support/schedules/schedule-hub.ts";
import { issueToken } from "../support/tokens.ts";

let at: ScheduleHub;
beforeAll(async () => {
  at = await ScheduleHub.start("2026-03-01T00:00:00Z");
});
afterAll(() => at.hub.stop());

const daily = { cron: "0 2 * * *" };

describe("a schedule is refused", () => {
  test.each([
    [{}, "cron: give cron or every_sec"],
    [{ cron: "0 2 * * *", every_sec: 60 }, "give cron or every_sec, and not both"],
    [{ cron: "0 25 * * *" }, 'hour: "25" is not allowed'],
    [{ ...daily, time_zone: "Mars/Base" }, "is not a time zone"],
    [{ every_sec: 60, time_zone: "UTC" }, "an interval counts elapsed time"],
    [{ ...daily, jitter_sec: 43_201 }, "at most half of the shortest interval, which is 86400 s"],
    [{ ...daily, start_at: 9, end_at: 9 }, "must be after start_at"],
    [{ ...daily, job: { type: "t", idempotency_key: "k" } }, "job.idempotency_key: is an unknown field"],
    [{ ...daily, job: { type: "t", run_at: 1 } }, "job.run_at: is an unknown field"],
    [{ ...daily, job: { params: {} } }, "job.type: is required"],
    [{ ...daily, job: { type: "t", timeout_sec: 0 } }, "job.timeout_sec"],
  ])("for %j", async (body, said) => {
    const { token } = await at.newOwner();
    const job = { type: "report" };
    const answer = await at.hub.call("PUT", "/schedules/s", { token, body: { job, ...body } });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(said.replaceAll('"', '\\"'));
  });

  test("to another user, and does not exist for another tenant", async () => {
    const { token, tenant } = await at.newOwner();
    const name = await at.put(token, daily);
    const bob = (await issueToken(at.hub, { role: "user", tenant_id: tenant, user_id: "bob" })).token;
    const eve = (await at.newOwner()).token;
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/run"],
      ["POST", "/pause"],
    ] as const) {
      expect((await at.hub.call(method, `/schedules/${name}${path}`, { token: bob })).status).toBe(403);
      expect((await at.hub.call(method, `/schedules/${name}${path}`, { token: eve })).status).toBe(404);
    }
    const other = `/schedules/${name}?tenant=${tenant}`;
    expect((await at.hub.call("GET", other, { token: eve })).status).toBe(404);
    expect((await at.hub.call("GET", other, { token: at.hub.admin })).status).toBe(200);
    const seen = (await at.hub.must("GET", "/schedules", { token: bob })).json<unknown[]>();
    expect(seen).toEqual([]);
  });

  test("beyond the quota of its tenant", async () => {
    const { token, tenant } = await at.newOwner();
    const quota = { token: at.hub.admin, body: { max_schedules: 1 } };
    await at.hub.must("PUT", `/tenants/${tenant}/quota`, quota);
    const name = await at.put(token, daily);
    const body = { job: { type: "report" }, ...daily };
    const more = await at.hub.call("PUT", "/schedules/more", { token, body });
    expect([more.status, errorOf(more.text).code]).toEqual([429, "QUOTA_EXCEEDED"]);
    expect((await at.hub.call("PUT", `/schedules/${name}`, { token, body })).status).toBe(200);
  });
});

describe("a schedule", () => {
  test("answers its next five times, and the same PUT changes nothing", async () => {
    const { token, tenant } = await at.newOwner();
    const body = { job: { type: "report", params: { n: 1.0 } }, ...daily, time_zone: "Europe/Berlin" };
    const made = await at.hub.must("PUT", "/schedules/nightly", { token, body });
    expect(made.status).toBe(201);
    const first = made.json<{ next: number[]; state: string }>();
    expect(first.state).toBe("active");
    expect(first.next).toHaveLength(5);
    expect(new Date(first.next[0]!).toISOString()).toBe("2026-03-01T01:00:00.000Z");
    at.pass(1_000);
    const again = await at.hub.must("PUT", "/schedules/nightly", { token, body });
    expect([again.status, again.json()]).toEqual([200, first]);
    expect(await at.eventsOf(tenant, "SCHEDULE_CHANGED")).toHaveLength(1);
  });

  test("makes one job of an occurrence, which knows what it was made for", async () => {
    const { token, tenant } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60 });
    await at.fire();
    expect(await at.firedOf(token)).toEqual([]);
    at.pass(60_000);
    await at.fire();
    await at.fire();
    const due = new Date(at.nowMs).toISOString().replace(".000", "");
    expect(await at.firedOf(token)).toEqual([due]);
    const view = await at.get(token, name);
    expect(view.past).toMatchObject([{ occurrence: due, outcome: "fired", job_id: view.last!.job_id }]);
    const job = await at.hub.must("GET", `/jobs/${view.last!.job_id}`, { token });
    expect(job.json()).toMatchObject({
      user_id: "ann",
      metadata: { schedule: { name, scheduled_for: new Date(at.nowMs).toISOString(), by: "clock" } },
    });
    expect(await at.eventsOf(tenant, "SCHEDULE_FIRED")).toMatchObject([
      { schedule: name, occurrence: due, job_id: view.last!.job_id },
    ]);
  });

  test("begins a new timing now, and keeps its place when something else changes", async () => {
    const { token } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60 });
    at.pass(59_000);
    await at.put(token, { every_sec: 60, overlap: "allow" }, name);
    at.pass(1_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
    at.pass(59_000);
    await at.put(token, { every_sec: 61, overlap: "allow" }, name);
    at.pass(1_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
  });

  test("skips what is due while its job runs, waits for it, or replaces it", async () => {
    const { token } = await at.newOwner();
    for (const overlap of ["skip", "wait", "replace"])
      await at.put(token, { every_sec: 60, overlap }, overlap);
    at.pass(60_000);
    await at.fire();
    at.pass(60_000);
    await at.fire();
    expect(await at.get(token, "skip")).toMatchObject({ waiting: 0, past: [{ outcome: "skipped" }, {}] });
    expect(await at.get(token, "wait")).toMatchObject({ waiting: 1 });
    // Its pending job was cancelled, and has ended.
    const { last } = await at.get(token, "replace");
    expect((await at.hub.must("GET", `/jobs/${last!.job_id}`, { token })).json()).toMatchObject({
      fail_code: "CANCELLED",
    });
    await at.endJobs(token);
    at.pass(1_000);
    await at.fire();
    expect((await at.get(token, "wait")).waiting).toBe(0);
    const count = async (name: string) => (await at.firedOf(token, name)).length;
    expect([await count("skip"), await count("wait"), await count("replace")]).toEqual([1, 2, 2]);
  });

  test("does not catch up what passed during a pause", async () => {
    const { token } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60, catch_up: "all", overlap: "allow" });
    const pause = await at.hub.must("POST", `/schedules/${name}/pause`, { token });
    expect(pause.json()).toMatchObject({ state: "paused", next: [] });
    at.pass(600_000);
    await at.fire();
    await at.hub.must("POST", `/schedules/${name}/resume`, { token });
    await at.fire();
    expect(await at.firedOf(token)).toEqual([]);
    at.pass(60_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
  });

  test("runs now when it is asked to, unless its job runs", async () => {
    const { token } = await at.newOwner();
    const name = await at.put(token, daily);
    const { job_id } = (await at.hub.must("POST", `/schedules/${name}/run`, { token })).json<{
      job_id: string;
    }>();
    expect((await at.hub.must("GET", `/jobs/${job_id}`, { token })).json()).toMatchObject({
      status: "pending",
    });
    const busy = await at.hub.call("POST", `/schedules/${name}/run`, { token });
    expect([busy.status, errorOf(busy.text).message]).toEqual([409, expect.stringContaining(job_id)]);
    await at.endJobs(token);
    expect((await at.hub.must("POST", `/schedules/${name}/run`, { token })).status).toBe(201);
    expect((await at.get(token, name)).runs).toBe(0);
  });

  test("fills back the occurrences that made no job, one after the other", async () => {
    const { token } = await at.newOwner();
    const name = await at.put(token, { cron: "0 * * * *" });
    const from = at.nowMs;
    at.pass(3_600_000);
    await at.fire();
    at.pass(3 * 3_600_000);
    await at.fire();
    const range = { from, to: at.nowMs };
    const asked = (body: object) => at.hub.call("POST", `/schedules/${name}/backfill`, { token, body });
    expect((await asked({ from, to: at.nowMs + 1 })).status).toBe(400);
    expect((await asked({ from: 0, to: at.nowMs })).text).toContain("more than 1000 occurrences");
    const firedBefore = (await at.firedOf(token)).length;
    expect((await asked(range)).json()).toEqual({ added: 4 - firedBefore });
    expect((await asked(range)).json()).toEqual({ added: 0 });
    for (let turn = 0; turn < 5; turn++) {
      await at.endJobs(token);
      at.pass(1_000);
      await at.fire();
    }
    const fired = await at.firedOf(token);
    expect(fired).toHaveLength(4);
    expect(new Set(fired).size).toBe(4);
  });

  test("is removed, and its jobs stay", async () => {
    const { token } = await at.newOwner();
    const name = await at.put(token, { every_sec: 60 });
    at.pass(60_000);
    await at.fire();
    expect((await at.hub.must("DELETE", `/schedules/${name}`, { token })).status).toBe(204);
    at.pass(60_000);
    await at.fire();
    expect(await at.firedOf(token)).toHaveLength(1);
    expect((await at.hub.call("GET", `/schedules/${name}`, { token })).status).toBe(404);
  });
});
