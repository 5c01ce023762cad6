import type { AgentPayload } from "../../contract/shapes/agent-shapes.ts";
import { canonicalize } from "../../signing/canonical.ts";
import { jobInputOf } from "../job-input.ts";
import { type RunContext, RunFailure, type RunnerDeps } from "../runner.ts";

/** The payload as one line. The input is written as it was signed. */
export function containerPayload(
  { settings }: RunnerDeps,
  context: RunContext,
  { secrets, token }: { secrets: Record<string, string>; token: string | undefined },
): string {
  const { document, lease } = context;
  const { run } = document;
  if (run.kind !== "exec_per_job" && run.kind !== "persistent_http")
    throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `${run.kind} jobs cannot run in a container`);
  const payload: AgentPayload = {
    job_id: lease.job_id,
    job_class: document.type,
    worker_command: run.worker_command,
    interface: run.kind === "exec_per_job" ? { kind: run.kind } : { kind: run.kind, port: run.port },
    attempt: lease.attempt,
    tenant_id: document.tenant_id,
    timeout_sec: lease.timeout_sec,
    report: false,
    secrets,
    ...(document.output_location === undefined ? {} : { output_location: document.output_location }),
    ...(token === undefined ? {} : { job_token: token, ...platformOf(settings) }),
  };
  return `${JSON.stringify(payload).slice(0, -1)},"job_input":${canonicalize(jobInputOf(context))}}\n`;
}

function platformOf({ containers }: RunnerDeps["settings"]): Pick<AgentPayload, "platform_url" | "ca"> {
  if (containers === undefined) return {};
  const { hubUrl, ca } = containers;
  return { platform_url: hubUrl, ...(ca === undefined ? {} : { ca }) };
}
