import type { Command } from "commander";
import type { RpcJob } from "../../../client/index.ts";
import { formatBytes } from "../../../core/text/format-bytes.ts";
import { formatCost } from "../../../core/text/format-cost.ts";
import { withJobs } from "../../connection/with-jobs.ts";
import type { CliContext } from "../../context.ts";
import { formatDuration } from "../../terminal/duration.ts";
import { print } from "../../terminal/print.ts";
import { jobIdHelp, resolveJobId } from "../../terminal/short-id.ts";
import { formatFields } from "../../terminal/table.ts";
import { failureFields } from "../failure-fields.ts";
import { shownState } from "./shown-state.ts";

export function define(command: Command, context: CliContext): void {
  command.argument("<id>", jobIdHelp).action((id: string) =>
    withJobs(context, command, async (jobs) => {
      const signal = context.stops.requested;
      const job = await jobs.status(await resolveJobId(jobs, id), { signal });
      print(context, command, job, (shown) => formatFields(fieldsOf(shown, Date.now())));
    }),
  );
}

type Field = readonly [string, string | number | null];

export function fieldsOf(job: RpcJob, nowMs: number): Field[] {
  const { limits, usage } = job;
  return [
    ["id", job.job_id],
    ["state", shownState(job, nowMs)],
    ["starts", moment(job.scheduled_at)],
    ["exit code", job.exit_code],
    ["reason", job.reason],
    ...failureFields({ ...job, code: job.fail_code, detail: job.fail_detail }),
    ["type", job.type],
    ["kind", job.kind],
    ["command", commandLine(job.command)],
    ["solver", job.solver_url],
    ["checksum", job.solver_checksum],
    ["port", job.port],
    ["container", job.container],
    ["agent", job.agent],
    ["user", `${job.user} (${job.tenant})`],
    ["attempts", attemptsText(job)],
    ["last error", job.last_error],
    ["next try", moment(job.retry_at)],
    ["worker", job.worker],
    ["progress", job.progress === null ? null : `${Math.round(job.progress)} %`],
    ["created", moment(job.created_at)],
    ["started", moment(job.started_at)],
    ["ended", moment(job.ended_at)],
    ["took", took(job)],
    ["output", outputText(job)],
    ["limits", limits === null ? null : limitText(limits)],
    ["used", usage === null ? null : usageText(usage)],
    ...networkFields(usage),
    ...agentFields(job.agent_use),
    ...isolationFields(job.isolation),
  ];
}

function outputText({ stdout_bytes, stderr_bytes, output_removed, output_arriving }: RpcJob): string {
  const sizes = `stdout ${formatBytes(stdout_bytes)}, stderr ${formatBytes(stderr_bytes)}`;
  if (output_removed) return `${sizes}; no longer available`;
  return output_arriving ? `${sizes} so far; the rest is still arriving from the worker` : sizes;
}

/** A job that a person has retried was tried more often than its limit counts. */
function attemptsText(job: RpcJob): string | null {
  const tries = job.attempts === 0 ? null : `${job.attempts} of ${job.max_attempts}`;
  return tries === null || job.attempt === job.attempts ? tries : `${tries} (attempt ${job.attempt} in all)`;
}

/** Which parts of the cage were applied and which were missing, so that a job is not thought safer than it was. */
function isolationFields(isolation: RpcJob["isolation"]): Field[] {
  if (isolation === null) return [];
  const { level, applied, missing, cgroup } = isolation;
  return [
    ["isolation", level],
    ["cgroup", cgroup],
    ["applied", applied.join(", ") || "nothing"],
    ...missing.map(({ part, why }): Field => [`missing ${part}`, why]),
  ];
}

function limitText({ cpu, memory, io, pids, network }: NonNullable<RpcJob["limits"]>): string {
  const parts = Object.entries({ cpu, memory, io, pids, network });
  return parts
    .filter(([, value]) => value !== "" && value !== 0)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function networkFields(usage: RpcJob["usage"]): Field[] {
  const { network } = usage ?? {};
  if (!network) return [];
  const { requests, denied, bytes } = network;
  return [["network", `closed; ${requests} requests, ${denied} denied, ${formatBytes(bytes)}`]];
}

/** The agent's own word: no part of Writ has counted it. */
function agentFields(use: RpcJob["agent_use"]): Field[] {
  if (use === null) return [];
  const { tool_calls, denied, tokens_in, tokens_out, cost_usd, model, session_id } = use;
  const refused = denied === 0 ? "" : `, ${denied} of them refused`;
  const cost = cost_usd === undefined ? "" : `, ${formatCost(cost_usd)}`;
  return [
    ["agent says", `${tool_calls} calls${refused}; ${tokens_in} tokens in, ${tokens_out} out${cost}`],
    ["its model", model ?? null],
    ["its session", session_id ?? null],
  ];
}

function usageText({ cpu_ms, memory_peak_bytes, oom }: NonNullable<RpcJob["usage"]>): string {
  const text = `${formatDuration(cpu_ms)} of CPU time, memory peak ${formatBytes(memory_peak_bytes)}`;
  return oom ? `${text}, killed for lack of memory` : text;
}

/** The command quoted for a shell, so that it is clear where each word ends. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

function took({ started_at: from, ended_at: to }: RpcJob): string | null {
  return from === null || to === null ? null : formatDuration(to - from);
}

function moment(ms: number | null): string | null {
  return ms === null || ms === 0 ? null : new Date(ms).toISOString();
}
