import { type JobSubmission, jobBatch } from "../src/contract/shapes/submit-shapes.ts";
import { buildDocument } from "../src/hub/use-cases/jobs/build-document.ts";
import { makeDocuments } from "../src/hub/use-cases/jobs/make-documents.ts";
import { readPlainBatch } from "../src/hub/use-cases/jobs/plain-submissions.ts";
import { parseJson } from "../src/signing/parse-json.ts";
import { figure } from "./_figures.ts";

/**
 * What it costs the hub to make documents of a batch: by the strict parser and the shape, and by the reader of plain
 * submissions. In turns, in one process.
 * Usage: npm run bench -- documents
 * Why: ADR 0117.
 */
const jobs = 1000;
const rounds = 15;
const keysMax = 100_000;
const author = { tenantId: "default", userId: "ada" };
const text = (params: (index: number) => string) =>
  `{"jobs":[${Array.from({ length: jobs }, (_, index) => `{"type":"noop","params":${params(index)},"job_id":"01890a5d-ac96-774b-bcce-${String(index).padStart(12, "0")}"}`).join(",")}]}`;
const bodies = {
  "params in canonical form": text((index) => `{"index":${index},"text":"${"x".repeat(200)}"}`),
  "params in another order": text((index) => `{"text":"${"x".repeat(200)}","index":${index}}`),
};

type Way = { read: () => JobSubmission[]; make: (jobs: JobSubmission[]) => unknown };

for (const [name, body] of Object.entries(bodies)) {
  const ways = {
    strict: {
      read: () => jobBatch.parse(parseJson(body, { keysMax })).jobs,
      make: (jobs) => jobs.map((job) => buildDocument(job, author, { jobId: job.job_id!, nowMs: 1_000 })),
    },
    plain: {
      read: () => readPlainBatch(body, keysMax)!.jobs,
      make: (jobs) => makeDocuments(jobs, author, { nowMs: 1_000, defaulted: undefined, newId: () => "" }),
    },
  } satisfies Record<string, Way>;
  const times: Record<keyof typeof ways, number[]> = { strict: [], plain: [] };
  for (let round = 0; round < rounds; round++)
    for (const way of ["strict", "plain"] as const) times[way].push(cpuMicros(ways[way]));
  const [strict, plain] = [median(times.strict), median(times.plain)];
  figure(`${name}: strict parser and shape`, strict / jobs, "µs of CPU a job");
  figure(`${name}: plain reader`, plain / jobs, "µs of CPU a job");
  figure(`${name}: strict ÷ plain`, strict / plain, "");
}

function cpuMicros({ read, make }: Way): number {
  const before = process.cpuUsage();
  make(read());
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
