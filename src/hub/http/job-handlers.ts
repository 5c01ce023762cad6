import type { jobRoutes } from "../../contract/job-routes.ts";
import { cancelJob, retryJob } from "../use-cases/jobs/end-jobs.ts";
import { explainJob } from "../use-cases/jobs/explain-job.ts";
import { exportBundle } from "../use-cases/jobs/export-bundle.ts";
import { findJob } from "../use-cases/jobs/find-job.ts";
import { listJobs } from "../use-cases/jobs/list-jobs.ts";
import { submitJobs } from "../use-cases/jobs/submit-jobs.ts";
import { eventView } from "../views/event-view.ts";
import { jobView } from "../views/job-view.ts";
import type { Call, Handlers } from "./call.ts";
import { streamEvents } from "./stream-events.ts";
import { readOutput } from "./stream-output.ts";

const pageJobs = 50;
const pageEvents = 200;

export const jobHandlers: Handlers<keyof typeof jobRoutes> = {
  async submitJob({ deps, identity, origin, body }) {
    const [job] = await submitJobs(deps, { identity, submissions: [body], origin });
    return Response.json({ id: job!.id, status: job!.status }, { status: job!.existed ? 200 : 201 });
  },

  async submitJobs({ deps, identity, origin, body }) {
    const jobs = await submitJobs(deps, { identity, submissions: body.jobs, origin });
    return Response.json({ jobs: jobs.map(({ id, status }) => ({ id, status })) }, { status: 201 });
  },

  async listJobs({ deps, identity, query }) {
    const { worker_id: workerId, limit = pageJobs, ...rest } = query;
    const { jobs, nextCursor } = await listJobs(deps, { identity, workerId, limit, ...rest });
    const views = await Promise.all(jobs.map((job) => jobView(deps.outputsDir, job, identity)));
    return Response.json(views, { headers: nextCursor === null ? {} : { "X-Next-Cursor": nextCursor } });
  },

  streamEvents,
  readOutput,

  async getJob(call) {
    return Response.json(await jobView(call.deps.outputsDir, await readable(call), call.identity));
  },

  async cancelJob({ deps, identity, origin, params }) {
    const { over } = await cancelJob(deps, { identity, origin, jobId: params.id });
    return new Response(null, { status: over ? 204 : 202 });
  },

  async retryJob({ deps, identity, origin, params }) {
    const job = await retryJob(deps, { identity, origin, jobId: params.id });
    return Response.json({ id: job.id, status: job.status });
  },

  async listJobEvents(call) {
    const { job } = await readable(call);
    const { after = 0, limit = pageEvents } = call.query;
    const events = await call.deps.store.readEvents({ jobId: job.id, afterSeq: after, limit });
    return Response.json(events.map(eventView));
  },

  async explainJob(call) {
    return Response.json(await explainJob(call.deps, (await readable(call)).job));
  },

  async getReceipt(call) {
    const { deps, identity, origin, params } = call;
    return Response.json(await exportBundle(deps, { identity, origin, jobId: params.id }));
  },
};

function readable(call: Call<"getJob" | "listJobEvents" | "explainJob">) {
  const { deps, identity, origin, params } = call;
  return findJob(deps, { identity, origin, jobId: params.id, to: "read" });
}
