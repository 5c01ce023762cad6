import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { JobService } from "../../contract/gen/writ/v1/job_service_pb.js";
import { invalidArgument } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import { findJob, notFound } from "../use-cases/jobs/find-job.ts";
import { stopJob } from "../use-cases/jobs/stop-job.ts";
import { submitJobs } from "../use-cases/jobs/submit-jobs.ts";
import { connectionIn, type RpcCall, type RpcDeps } from "./call.ts";
import { jobStatus } from "./job-status.ts";
import { listPage } from "./list-request.ts";
import { serveCall } from "./serve-call.ts";
import { submissionOf } from "./start-request.ts";

export const serviceName = "writ.v1.JobService";

/** Every method except StreamOutput, which frames its messages itself. */
export function jobService(deps: RpcDeps): Partial<ServiceImpl<typeof JobService>> {
  return {
    startJob: serve(deps, "StartJob", async (call, request) => {
      const { identity, origin } = call;
      const { submission, defaulted } = submissionOf(request);
      const [job] = await submitJobs(deps, { identity, origin, submissions: [submission], defaulted });
      return { jobId: job!.id };
    }),

    stopJob: serve(deps, "StopJob", async (call, request) => {
      const { identity, origin, signal } = call;
      const jobId = jobIdIn(request);
      return { status: await jobStatus(call, await stopJob(deps, { identity, origin, signal, jobId })) };
    }),

    getStatus: serve(deps, "GetStatus", async (call, request) => {
      const { identity, origin } = call;
      const stored = await findJob(deps, { identity, origin, jobId: jobIdIn(request), to: "read" });
      return jobStatus(call, stored);
    }),

    listJobs: serve(deps, "ListJobs", async (call, request) => {
      const { jobs, nextPageToken } = await listPage(call, request);
      return { nextPageToken, jobs: await Promise.all(jobs.map((stored) => jobStatus(call, stored))) };
    }),
  };
}

/** A text that is not an id names no job, so nothing has to be looked up. */
export function jobIdIn({ jobId }: { jobId: string }): string {
  if (jobId === "") throw invalidArgument({ path: "job_id", message: "must not be empty" });
  if (!isJobId(jobId)) throw notFound(jobId.slice(0, idCharsShownMax));
  return jobId;
}

const idCharsShownMax = 100;

function serve<I extends object, O>(
  deps: RpcDeps,
  method: string,
  act: (call: RpcCall, request: I) => Promise<O>,
): (request: I, context: HandlerContext) => Promise<O> {
  return (request, context) =>
    serveCall(
      deps,
      {
        method: `${serviceName}/${method}`,
        connection: connectionIn(context.values),
        userAgent: context.requestHeader.get("user-agent")?.slice(0, userAgentCharsMax) ?? null,
        jobId: "jobId" in request ? shownId(request.jobId) : undefined,
        signal: context.signal,
      },
      (call) => act(call, request),
    );
}

export const userAgentCharsMax = 200;

/** Only a real id is logged, because other text comes from outside. */
export function shownId(jobId: unknown): string | undefined {
  return typeof jobId === "string" && isJobId(jobId) ? jobId : undefined;
}
