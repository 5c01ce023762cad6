import { jobService as methods } from "../../contract/gen/writ/v1/job_service.ts";
import { statusOfView } from "../../contract/job-status.ts";
import { inTraceOf } from "../../core/trace-context.ts";
import { exchangeCertificate } from "../use-cases/access/authenticate.ts";
import { findComparedJob } from "../use-cases/jobs/find-job.ts";
import { showJob } from "../use-cases/jobs/show-job.ts";
import { startCommand } from "../use-cases/jobs/start-command.ts";
import { stopJob } from "../use-cases/jobs/stop-job.ts";
import type { RpcDeps } from "./call.ts";
import { jobIdIn } from "./job-id-in.ts";
import { listPage, totalOf } from "./list-request.ts";
import type { Serve } from "./serve-call.ts";
import { unary } from "./serve-unary.ts";
import { startOf } from "./start-request.ts";
import { streamOutput } from "./stream-output.ts";

/** The methods of JobService with their paths on the HTTP/2 server. */
export function jobService(deps: RpcDeps): [path: string, serve: Serve][] {
  const served: Record<keyof typeof methods, Serve> = {
    startJob: unary(deps, methods.startJob, async (call, request) => {
      const { identity, origin, traceparent } = call;
      const start = inTraceOf(traceparent, startOf(request));
      const { id } = await startCommand(deps, { identity, origin, start });
      call.noteJob(id);
      return { job_id: id };
    }),

    stopJob: unary(deps, methods.stopJob, async (call, request) => {
      const { identity, origin, signal } = call;
      const jobId = jobIdIn(call, request);
      const stopped = await stopJob(deps, { identity, origin, signal, jobId });
      return { status: statusOfView(await showJob(deps, stopped, identity)) };
    }),

    getStatus: unary(deps, methods.getStatus, async (call, request) => {
      const { identity, origin } = call;
      const jobId = jobIdIn(call, request);
      const stored = await findComparedJob(deps, { identity, origin, jobId });
      return statusOfView(await showJob(deps, stored, identity));
    }),

    streamOutput: streamOutput(deps),

    listJobs: unary(deps, methods.listJobs, async (call, request) => ({
      ...(await listPage(call, request)),
      ...(await totalOf(call, request)),
    })),

    exchangeCertificate: unary(deps, methods.exchangeCertificate, async ({ peer }) => {
      const { token, expiresAt } = exchangeCertificate(deps, peer);
      return { token, expires_at: expiresAt };
    }),
  };
  return Object.entries(served).map(([name, serve]) => [methods[name as keyof typeof methods].path, serve]);
}
