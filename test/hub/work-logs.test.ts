import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openLogger } from "../../src/runtime/log/logger.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, jobReader, registerWorker, submitJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

const hub = hubForAll({ ...stillEnv, WRIT_LOG_LEVEL: "info" });
const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

test("O-18 the worker's log has each claimed and ended job, across rotations", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-worker-log-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const maxSizeBytes = 2_000;
  const logger = openLogger({ file: join(dir, "worker.log"), level: "info", maxSizeBytes, keep: 50 });
  const type = freshName("logged");
  const ids: string[] = [];
  for (let count = 0; count < 20; count++) ids.push((await submitJob(hub, { type })).id);
  const refused = { kind: "exec", argv: ["true"], secrets: ["NOT_HERE"] };
  const bad = (await submitJob(hub, { type, run: refused })).id;
  const worker = await startTestWorker(hub, { types: [type], logger });
  const isOver = async (id: string) => ["completed", "failed"].includes((await jobReader(hub)(id)).status);
  for (const id of [...ids, bad]) await eventually("it has ended", () => isOver(id));
  await worker.stop();
  logger.close();

  const files = readdirSync(dir);
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const { size, mode } = statSync(join(dir, file));
    expect([file, size <= maxSizeBytes, mode & 0o777]).toEqual([file, true, 0o600]);
  }
  const lines = files.flatMap((file) => linesOf(readFileSync(join(dir, file), "utf8")));
  const ended = lines.filter(({ msg }) => msg === "a job has ended");
  expect(ended.map(({ job_id }) => job_id).toSorted()).toEqual(ids.toSorted());
  expect(ended[0]).toMatchObject({
    ...{ level: "info", type, attempt: 1, signature_verified: true, outcome: "completed", exit_code: 0 },
    ...{ waited_ms: expect.any(Number), ran_ms: expect.any(Number), report_ms: expect.any(Number) },
  });
  const claimed = lines.filter(({ msg }) => msg === "claimed jobs");
  expect(claimed.flatMap(({ job_ids }) => job_ids)).toEqual(expect.arrayContaining(ids));
  expect(lines.filter(({ level }) => level === "warn")).toMatchObject([
    { msg: `refused job ${bad}`, job_id: bad, code: "INVALID_JOB", detail: "NO_SUCH_SECRET" },
  ]);
});

test("O-18 hub.log names the job of every submission", async () => {
  const body = { type: freshName("named"), run: { kind: "exec", argv: ["true"] } };
  const submit = async (path: string, body: unknown) =>
    (await hub.must("POST", path, { token: hub.admin, body })).json<{ id: string; jobs: { id: string }[] }>();
  const { id } = await submit("/jobs", body);
  const started = await submit("/jobs/start", { command: ["true"] });
  const few = (await submit("/jobs/batch", { jobs: [body, body] })).jobs.map((job) => job.id);
  const many = (await submit("/jobs/batch", { jobs: Array(101).fill(body) })).jobs.map((job) => job.id);
  const calls = await eventually("the log has them", () => {
    const lines = linesOf(readFileSync(join(hub.home, "logs", "hub.log"), "utf8"));
    const found = lines.filter(
      ({ method, route }) => method === "POST" && /submit|start/i.test(String(route)),
    );
    return found.at(-1)?.["job_count"] === 101 ? found.slice(-4) : null;
  });
  expect(calls).toMatchObject([
    { job: id },
    { job: started.id },
    { jobs: few },
    { first_job: many[0], last_job: many.at(-1), job_count: 101 },
  ]);
});

test("the hub's log names the worker of a claim", async () => {
  const body = { worker_id: await registerWorker(hub) };
  await hub.must("POST", "/jobs/claim", { token: hub.admin, body });
  await hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body: { ...body, max: 1 } });
  await hub.must("GET", `/jobs/pending?worker_id=${body.worker_id}`, { token: hub.admin });
  const file = join(hub.home, "logs", "hub.log");
  const claimsOf = () =>
    linesOf(readFileSync(file, "utf8")).filter(({ worker }) => worker === body.worker_id);
  await eventually("the calls are in the log", () => claimsOf().length === 3);
  expect(claimsOf().map(({ route }) => route)).toEqual(["claimJob", "claimJobs", "pendingJob"]);
});
