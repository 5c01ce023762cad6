import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { JobService } from "../../contract/gen/writ/v1/job_service_pb.js";
import { statusOfView } from "../../contract/job-status.ts";
import { invalidArgument } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";
import { inTraceOf } from "../../core/trace-context.ts";
import { exchangeCertificate } from "../use-cases/access/authenticate.ts";
import { notFound } from "../use-cases/access/unknown-job.ts";
import { findJob } from "../use-cases/jobs/find-job.ts";
import { showJob } from "../use-cases/jobs/show-job.ts";
import { startCommand } from "../use-cases/jobs/start-command.ts";
import { stopJob } from "../use-cases/jobs/stop-job.ts";
import type { RpcCall, RpcDeps } from "./call.ts";
import { statusMessage } from "./job-status.ts";
import { listPage, totalOf } from "./list-request.ts";
import { type Serve, unary } from "./serve-unary.ts";
import { startOf } from "./start-request.ts";

type Methods = (typeof JobService)["method"];
type UnaryName = Exclude<keyof Methods, "streamOutput">;

/** Every method except StreamOutput, whose answer is a stream. */
export function jobService(deps: RpcDeps): Record<UnaryName, Serve> {
  return {
    startJob: serve(deps, "startJob", async (call, request) => {
      const { identity, origin, traceparent } = call;
      const start = inTraceOf(traceparent, startOf(request));
      const { id } = await startCommand(deps, { identity, origin, start });
      return { jobId: id };
    }),

    stopJob: serve(deps, "stopJob", async (call, request) => {
      const { identity, origin, signal } = call;
      const jobId = jobIdIn(request);
      const stopped = await stopJob(deps, { identity, origin, signal, jobId });
      return { status: statusMessage(statusOfView(await showJob(deps, stopped, identity))) };
    }),

    getStatus: serve(deps, "getStatus", async (call, request) => {
      const { identity, origin } = call;
      const stored = await findJob(deps, { identity, origin, jobId: jobIdIn(request), to: "read" });
      return statusMessage(statusOfView(await showJob(deps, stored, identity)));
    }),

    listJobs: serve(deps, "listJobs", async (call, request) => {
      const { jobs, nextPageToken } = await listPage(call, request);
      return { nextPageToken, jobs: jobs.map(statusMessage), ...(await totalOf(call, request)) };
    }),

    exchangeCertificate: serve(deps, "exchangeCertificate", async ({ peer }) => {
      const { token, expiresAt } = exchangeCertificate(deps, peer);
      return { token, expiresAt: BigInt(expiresAt) };
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

function serve<N extends UnaryName>(
  deps: RpcDeps,
  name: N,
  act: (
    call: RpcCall,
    request: MessageShape<Methods[N]["input"]>,
  ) => Promise<MessageInitShape<Methods[N]["output"]>>,
): Serve {
  const { input, output } = JobService.method[name];
  return unary<Methods[N]["input"], Methods[N]["output"]>(
    deps,
    { path: methodPath(name), input, output },
    act,
  );
}

/** Where the HTTP/2 server is called for this method. */
export function methodPath(name: keyof Methods): string {
  return `/${JobService.typeName}/${JobService.method[name].name}`;
}
