import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { claimedJob, completedJob, freshName, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const metrics = async (token = hub.admin) => (await hub.must("GET", "//metrics", { token })).text;
const valueIn = (text: string, series: string) =>
  text
    .split("\n")
    .find((line) => line.startsWith(`${series} `))
    ?.split(" ")[1];

describe("C10: metrics", () => {
  test("are text that Prometheus accepts, with names and units as it wants them", async () => {
    await completedJob(hub, { token: tokens.alice });
    await submitJob(hub, { token: tokens.alice });
    const text = await metrics();
    expect(problemsIn(text)).toEqual([]);
    if (spawnSync("promtool", ["--version"]).status !== 0) return;
    expect(execFileSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" })).toBe("");
  });

  test("count a job that is submitted twice once", async () => {
    const count = async () => Number(valueIn(await metrics(), "writ_jobs_submitted_total"));
    const before = await count();
    const body = { type: freshName("twice"), idempotency_key: freshName("key") };
    for (const status of [201, 200]) {
      expect(await hub.call("POST", "/jobs", { token: tokens.alice, body })).toMatchObject({ status });
    }
    expect(await count()).toBe(before + 1);
  });

  test("the check finds what is wrong", () => {
    const wrong = [
      "# HELP a_total x",
      "# TYPE a_total gauge",
      "a_total 1",
      "# HELP b x",
      "# TYPE b counter",
      "b 1",
      "b 2",
      "c 1",
      "# HELP d_milliseconds x",
      "# TYPE d_milliseconds gauge",
      "d_milliseconds one",
      "",
    ];
    expect(problemsIn(wrong.join("\n"))).toEqual([
      "a_total is no counter",
      "b is a counter and does not end with _total",
      "b 2: is there twice",
      "c 1: belongs to no metric",
      "d_milliseconds has a unit that is not a base unit",
      "d_milliseconds one: is no sample",
    ]);
  });

  test("count requests by the method and path that callers know", async () => {
    const job = await submitJob(hub, { token: tokens.alice });
    await hub.must("GET", `/jobs/${job.id}`, { token: tokens.alice });
    await hub.call("GET", "/no-such-path", { token: tokens.alice });
    const text = await metrics();
    expect(text).toContain('writ_http_requests_total{method="POST",route="/jobs",status="201"}');
    expect(text).toContain('writ_http_requests_total{method="GET",route="/jobs/:id",status="200"}');
    expect(text).toContain('writ_http_requests_total{method="other",route="other",status="404"}');
    expect(text).toContain('writ_http_request_duration_seconds_count{method="GET",route="/jobs/:id"}');
  });

  test("tell how long jobs wait and run, and what waits, by tenant and type", async () => {
    const type = freshName("timed");
    await completedJob(hub, { token: tokens.alice, type });
    await submitJob(hub, { token: tokens.alice, type });
    await submitJob(hub, { token: tokens.alice, type, priority: 9 });
    const text = await metrics();
    const labels = `{tenant="acme",type="${type}"}`;
    expect(valueIn(text, `writ_job_wait_seconds_count${labels}`)).toBe("1");
    expect(valueIn(text, `writ_job_run_seconds_count${labels}`)).toBe("1");
    expect(valueIn(text, `writ_pending_jobs${labels}`)).toBe("2");
    expect(valueIn(text, `writ_held_jobs${labels}`)).toBe("0");
    expect(Number(valueIn(text, `writ_oldest_pending_job_age_seconds${labels}`))).toBeGreaterThanOrEqual(0);
  });

  test("tell how many workers there are in which state, and how many slots are used", async () => {
    const before = await metrics();
    await claimedJob(hub, { token: tokens.alice });
    const after = await metrics();
    const more = (series: string) => Number(valueIn(after, series)) - Number(valueIn(before, series));
    expect(more('writ_workers{state="active"}')).toBe(1);
    expect(more('writ_workers{state="blocked"}')).toBe(0);
    expect(more("writ_worker_slots")).toBe(4);
    expect(more("writ_worker_slots_used")).toBe(1);
  });

  test("have the standard names of a process", async () => {
    const text = await metrics();
    for (const name of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "process_start_time_seconds",
      "process_open_fds",
    ]) {
      expect(Number(valueIn(text, name)), name).toBeGreaterThan(0);
    }
  });

  test("show a viewer of one tenant nothing of the others", async () => {
    await submitJob(hub, { token: tokens.alice });
    await submitJob(hub, { token: tokens.eve });
    const text = await metrics(tokens.acmeViewer);
    expect(text).toContain('tenant="acme"');
    expect(new Set(text.matchAll(/tenant="([^"]*)"/g).map(([, tenant]) => tenant))).toEqual(
      new Set(["acme"]),
    );
    expect(problemsIn(text)).toEqual([]);
  });

  test("show a viewer of one tenant no figure of the whole hub", async () => {
    await submitJob(hub, { token: tokens.alice });
    const samples = (await metrics(tokens.acmeViewer)).split("\n").filter((line) => /^[a-z]/.test(line));
    expect(samples.length).toBeGreaterThan(5);
    expect(samples.filter((line) => !line.includes('tenant="acme"'))).toEqual([
      expect.stringMatching(/^writ_info\{/),
    ]);
    const all = await metrics(tokens.viewer);
    expect(all).toContain("\nwrit_jobs_submitted_total ");
    expect(all).toContain("\nprocess_cpu_seconds_total ");
  });
});

/** What `promtool check metrics` would say, and some more; for machines that do not have it. */
function problemsIn(text: string): string[] {
  const problems: string[] = [];
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const seen = new Set<string>();
  if (!text.endsWith("\n")) problems.push("the last line does not end");
  for (const line of text.split("\n").filter(Boolean)) {
    const [, what, name = "", rest = ""] = /^# (HELP|TYPE) ([a-z_:][a-z0-9_:]*) (.+)$/.exec(line) ?? [];
    if (what === "HELP") helped.add(name);
    if (what === "TYPE") {
      types.set(name, rest);
      problems.push(...wrongName(name, rest, helped));
    }
    if (!line.startsWith("#")) problems.push(...wrongSample(line, types, seen));
  }
  return problems;
}

function wrongName(name: string, type: string, helped: Set<string>): string[] {
  const problems: string[] = [];
  if (!helped.has(name)) problems.push(`${name} has no help`);
  if (type === "counter" && !name.endsWith("_total"))
    problems.push(`${name} is a counter and does not end with _total`);
  if (type !== "counter" && name.endsWith("_total")) problems.push(`${name} is no counter`);
  if (/_(milliseconds|ms|minutes|hours|kilobytes|megabytes|kb|mb|percent)(_|$)/.test(name))
    problems.push(`${name} has a unit that is not a base unit`);
  return problems;
}

const sample =
  /^([a-z_:][a-z0-9_:]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? ([Nn]a[Nn]|[+-]?Inf|-?[0-9.e+-]+)$/;

function wrongSample(line: string, types: Map<string, string>, seen: Set<string>): string[] {
  const [, name, labels = ""] = sample.exec(line) ?? [];
  if (name === undefined) return [`${line}: is no sample`];
  const base = name.replace(/_(bucket|sum|count)$/, "");
  if (!types.has(name) && types.get(base) !== "histogram") return [`${line}: belongs to no metric`];
  if (seen.has(name + labels)) return [`${line}: is there twice`];
  seen.add(name + labels);
  return [];
}
