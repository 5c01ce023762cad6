import { JsonText } from "../../../contract/routes/build-request.ts";
import type { jobRoutes } from "../../../contract/routes/job-routes.ts";
import type { SubmittedJob } from "../../../store/store.ts";
import { bulkChange } from "../../use-cases/jobs/bulk-change.ts";
import { countStates } from "../../use-cases/jobs/count-states.ts";
import { cancelJob, holdJob, resumeJob, retryJob } from "../../use-cases/jobs/end-jobs.ts";
import { explainJob } from "../../use-cases/jobs/explain-job.ts";
import { exportBundle } from "../../use-cases/jobs/export-bundle.ts";
import { findComparedJob, findJob } from "../../use-cases/jobs/find-job.ts";
import { countJobs, listJobsText } from "../../use-cases/jobs/list-jobs.ts";
import { listWholeJobs } from "../../use-cases/jobs/list-whole-jobs.ts";
import { openOutput } from "../../use-cases/jobs/read-output.ts";
import { searchOutput } from "../../use-cases/jobs/search-output.ts";
import { showJob } from "../../use-cases/jobs/show-job.ts";
import { startCommand } from "../../use-cases/jobs/start-command.ts";
import { submitJobs } from "../../use-cases/jobs/submit-jobs.ts";
import { eventView } from "../../views/event-view.ts";
import { type Call, type Handlers, nextPage } from "../call.ts";
import { streamEvents } from "../streams/stream-events.ts";
import { readOutput } from "../streams/stream-output.ts";
import { inTrace } from "../trace-header.ts";

const pageJobs = 50;
const pageEvents = 200;

export const jobHandlers: Handlers<keyof typeof jobRoutes> = {
  async submitJob({ deps, exchange, identity, origin, body }) {
    const [job] = await submitJobs(deps, { identity, submissions: [inTrace(exchange, body)], origin });
    exchange.jobIds = [job!.id];
    return { status: job!.existed ? 200 : 201, body: submittedView(job!) };
  },

  async startCommand({ deps, exchange, identity, origin, body }) {
    const start = inTrace(exchange, body);
    const { id, status, existed } = await startCommand(deps, { identity, origin, start });
    exchange.jobIds = [id];
    return { status: existed ? 200 : 201, body: { id, status } };
  },

  async submitJobs({ deps, exchange, identity, origin, body }) {
    const submissions = body.jobs.map((job) => inTrace(exchange, job));
    const jobs = await submitJobs(deps, { identity, submissions, origin });
    exchange.jobIds = jobs.map(({ id }) => id);
    return { status: 201, body: { jobs: jobs.map(submittedView) } };
  },

  async listJobs({ deps, identity, query }) {
    const { fields = "summary", ids, limit = pageJobs, offset, cursor, count = false, ...filter } = query;
    const request = { identity, filter, ids, limit, offset, cursor };
    const headersOf = async (page: { nextCursor: string | null; lastEventSeq: number }) => ({
      ...nextPage(page.nextCursor),
      "X-Last-Event-Id": String(page.lastEventSeq),
      ...(count ? totalHeader(await countJobs(deps, request)) : {}),
    });
    if (fields === "full") {
      const page = await listWholeJobs(deps, request);
      return { status: 200, body: page.jobs, headers: await headersOf(page) };
    }
    const { text, ...page } = await listJobsText(deps, request);
    return { status: 200, body: new JsonText(text), headers: await headersOf(page) };
  },

  async countJobs({ deps, identity, query }) {
    return { status: 200, body: await countStates(deps, { identity, filter: query }) };
  },

  async changeJobs({ deps, identity, origin, body }) {
    const { act, ids, filter, dry_run: isDryRun = false } = body;
    return { status: 200, body: await bulkChange(deps, { identity, origin, act, ids, filter, isDryRun }) };
  },

  streamEvents,
  readOutput,

  async searchOutput({ deps, identity, origin, params, query }) {
    const request = { identity, origin, jobId: params.id, stream: params.stream, attempt: query.attempt };
    const output = await openOutput(deps, request);
    const { q: text, from = 0, ignore_case: isCaseIgnored = false } = query;
    const { attempt, size } = output;
    const found = await searchOutput(output, { text, from, isCaseIgnored, clock: deps.clock });
    return { status: 200, body: { attempt, size, ...found } };
  },

  async getJob(call) {
    return { status: 200, body: await showJob(call.deps, await compared(call), call.identity) };
  },

  async cancelJob({ deps, identity, origin, params }) {
    const { over } = await cancelJob(deps, { identity, origin, jobId: params.id });
    return { status: over ? 204 : 202 };
  },

  async retryJob({ deps, identity, origin, params }) {
    const job = await retryJob(deps, { identity, origin, jobId: params.id });
    return { status: 200, body: { id: job.id, status: job.status } };
  },

  async holdJob({ deps, identity, origin, params }) {
    const job = await holdJob(deps, { identity, origin, jobId: params.id });
    return { status: 200, body: { id: job.id, status: job.status } };
  },

  async resumeJob({ deps, identity, origin, params }) {
    const job = await resumeJob(deps, { identity, origin, jobId: params.id });
    return { status: 200, body: { id: job.id, status: job.status } };
  },

  async listJobEvents(call) {
    const { job } = await readable(call);
    const { after = 0, limit = pageEvents } = call.query;
    const events = await call.deps.store.readEvents({ jobId: job.id, afterSeq: after, limit });
    return { status: 200, body: events.map(eventView) };
  },

  async explainJob(call) {
    return { status: 200, body: await explainJob(call.deps, await compared(call)) };
  },

  async getReceipt(call) {
    const { deps, identity, origin, params } = call;
    return { status: 200, body: await exportBundle(deps, { identity, origin, jobId: params.id }) };
  },
};

function readable({ deps, identity, origin, params }: Call<"listJobEvents">) {
  return findJob(deps, { identity, origin, jobId: params.id, to: "read" });
}

function compared({ deps, identity, origin, params }: Call<"getJob" | "explainJob">) {
  return findComparedJob(deps, { identity, origin, jobId: params.id });
}

function submittedView({ id, status, isDuplicate }: SubmittedJob) {
  return { id, status, ...(isDuplicate && { duplicate: isDuplicate }) };
}

/** A plus sign means that there may be more jobs than were counted. */
function totalHeader({ count, isMore }: { count: number; isMore: boolean }): Record<string, string> {
  return { "X-Total-Count": isMore ? `${count}+` : String(count) };
}
