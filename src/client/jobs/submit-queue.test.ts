import { expect, onTestFinished, test } from "vitest";
import { isJobId } from "../../core/ids.ts";
import { jobIdNumber, type RequestHandler, sendError, sendJson, startTinyHub } from "../testing/tiny-hub.ts";
import { Writ } from "../writ.ts";

type Submitted = { type: string; job_id: string; params?: unknown };

async function open(answer: RequestHandler) {
  const hub = await startTinyHub(answer);
  const writ = new Writ({ url: hub.url, token: "sk_user_x" });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return { hub, writ };
}

/** Accepts every job whose type is not `bad`, and a batch only when all of its jobs are good. */
function acceptGood(): RequestHandler {
  let count = 0;
  return ({ path, body }, response) => {
    const jobs = path === "/jobs" ? [JSON.parse(body) as Submitted] : (JSON.parse(body).jobs as Submitted[]);
    if (jobs.some(({ type }) => type === "bad")) return sendError(response, 400, "INVALID_ARGUMENT");
    const accepted = jobs.map(() => ({ id: jobIdNumber(++count), status: "pending" }));
    sendJson(response, 201, path === "/jobs" ? accepted[0] : { jobs: accepted });
  };
}

test("a refused job does not spoil those that were submitted with it", async () => {
  const { hub, writ } = await open(acceptGood());

  const outcomes = await Promise.allSettled(["a", "bad", "c"].map((type) => writ.submit({ type })));

  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { code: "INVALID_ARGUMENT" } });
  expect(hub.seen.map(({ path }) => path)).toEqual(["/jobs/batch", "/jobs", "/jobs", "/jobs"]);
});

test("jobs that are sent alone after a refused batch keep the ids they had in it", async () => {
  const { hub, writ } = await open(acceptGood());

  await Promise.allSettled(["a", "bad"].map((type) => writ.submit({ type })));

  const idsOf = (jobs: Submitted[]) => jobs.map((job) => job.job_id).sort();
  const [batch, ...singles] = hub.seen.map(({ body }) => JSON.parse(body));
  expect(idsOf(singles)).toEqual(idsOf(batch.jobs));
  expect(new Set(idsOf(singles).filter(isJobId)).size).toBe(2);
});

test("an error that no single job has caused is the error of every job", async () => {
  const { hub, writ } = await open((_, response) => sendError(response, 429, "QUOTA_EXCEEDED"));

  const outcomes = await Promise.allSettled([writ.submit({ type: "a" }), writ.submit({ type: "b" })]);

  expect(outcomes).toMatchObject([
    { reason: { code: "QUOTA_EXCEEDED" } },
    { reason: { code: "QUOTA_EXCEEDED" } },
  ]);
  expect(hub.seen).toHaveLength(1);
});

test("an explicit batch is refused as a whole", async () => {
  const { hub, writ } = await open(acceptGood());

  await expect(writ.submitBatch([{ type: "a" }, { type: "bad" }])).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });

  expect(hub.seen).toHaveLength(1);
});

test("jobs of one turn travel as one batch, in order, and each caller gets its own id", async () => {
  const { hub, writ } = await open(acceptGood());

  const accepted = await Promise.all(["a", "b", "c"].map((type) => writ.submit({ type })));

  expect(accepted.map(({ id }) => id)).toEqual([1, 2, 3].map(jobIdNumber));
  expect(hub.seen).toHaveLength(1);
  expect(JSON.parse(hub.seen[0]!.body).jobs.map(({ type }: Submitted) => type)).toEqual(["a", "b", "c"]);
  expect(hub.seen[0]!.headers.authorization).toBe("Bearer sk_user_x");
});

test("jobs that are worth two batches travel as two at once, each in order, and each caller gets its own id", async () => {
  const types = Array.from({ length: 17 }, (_, index) => `t${index}`);
  const both = Promise.withResolvers<void>();
  let arrived = 0;
  // The first batch is answered once the second has arrived: they do not wait for one another.
  const { hub, writ } = await open(async ({ body }, response) => {
    if (++arrived === 2) both.resolve();
    await both.promise;
    const jobs = JSON.parse(body).jobs as Submitted[];
    const accepted = jobs.map(({ type }) => ({ id: jobIdNumber(types.indexOf(type)), status: "pending" }));
    sendJson(response, 201, { jobs: accepted });
  });

  const accepted = await Promise.all(types.map((type) => writ.submit({ type })));

  expect(accepted.map(({ id }) => id)).toEqual(types.map((_, index) => jobIdNumber(index)));
  const batches = hub.seen.map(({ body }) => (JSON.parse(body).jobs as Submitted[]).map(({ type }) => type));
  expect(batches.sort((a, b) => types.indexOf(a[0]!) - types.indexOf(b[0]!))).toEqual([
    types.slice(0, 9),
    types.slice(9),
  ]);
});

test("a few jobs wait for the batch before them", async () => {
  const first = Promise.withResolvers<void>();
  const accept = acceptGood();
  const { hub, writ } = await open(async (seen, response) => {
    if (hub.seen.length === 1) await first.promise;
    await accept(seen, response);
  });

  const early = writ.submit({ type: "a" });
  await expect.poll(() => hub.seen.length).toBe(1);
  const late = ["b", "c"].map((type) => writ.submit({ type }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(hub.seen).toHaveLength(1);
  first.resolve();
  await Promise.all([early, ...late]);

  expect(hub.seen.map(({ path }) => path)).toEqual(["/jobs", "/jobs/batch"]);
});

test("a single job is sent without a batch", async () => {
  const { hub, writ } = await open(acceptGood());
  expect(await writ.submit({ type: "a" })).toEqual({ id: jobIdNumber(1), status: "pending" });
  expect(hub.seen.map(({ path }) => path)).toEqual(["/jobs"]);
});

test("a key that the caller gave is not replaced", async () => {
  const { hub, writ } = await open(acceptGood());
  await writ.submit({ type: "a", idempotency_key: "mine" });
  expect(JSON.parse(hub.seen[0]!.body)).toEqual({ type: "a", idempotency_key: "mine" });
});

test("no batch has more than 1000 jobs or 7 MiB", async () => {
  const { hub, writ } = await open(acceptGood());
  const large = "x".repeat(900 * 1024);

  await Promise.all([
    ...Array.from({ length: 2500 }, () => writ.submit({ type: "small" })),
    ...Array.from({ length: 20 }, () => writ.submit({ type: "large", params: large })),
  ]);

  const batches = hub.seen.map(({ body }) => ({
    count: JSON.parse(body).jobs?.length ?? 1,
    bytes: body.length,
  }));
  expect(batches.reduce((sum, { count }) => sum + count, 0)).toBe(2520);
  expect(Math.max(...batches.map(({ count }) => count))).toBe(1000);
  expect(Math.max(...batches.map(({ bytes }) => bytes))).toBeLessThanOrEqual(7 * 1024 ** 2 + 20);
});

test("at most four batches are on their way at once", async () => {
  let now = 0;
  let most = 0;
  const accept = acceptGood();
  const { writ } = await open(async (seen, response) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
    await accept(seen, response);
  });

  await Promise.all(Array.from({ length: 12_000 }, () => writ.submit({ type: "a" })));

  expect(most).toBeLessThanOrEqual(4);
});
