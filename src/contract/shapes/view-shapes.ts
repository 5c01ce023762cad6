import { z } from "zod";
import { callStatuses } from "../../core/agents/agent-use.ts";
import { executionLocations, providers } from "../../core/jobs/document.ts";
import { type FailureClass, failureClasses } from "../../core/jobs/failure.ts";
import { jobStates } from "../../core/jobs/job.ts";
import { ioClasses, networks } from "../../core/limits.ts";
import { kindNames } from "../kinds.ts";
import { known } from "./fields.ts";
import { isolationLevels } from "./report-shapes.ts";
import { termViews } from "./term-shapes.ts";

/**
 * What the hub returns. These shapes are open, unlike those of requests: a field or value that a newer hub adds is
 * ignored, and a field that is newer than version 0.1 is optional, so that client and hub may differ in version.
 */

const timeOrNull = z.int().nullable();
const failureClass = known(Object.keys(failureClasses) as FailureClass[]);

const runView = z
  .looseObject({ kind: known(kindNames) })
  .meta({ description: "The kind and its fields; fields that the caller may not read are masked" });

const requiresView = z.object({
  tags: z.array(z.string()).optional(),
  session: z.string().optional(),
  cores: z.int().optional(),
  ram_gb: z.number().optional(),
});

const limitsView = z.object({
  cpu: z.string().optional(),
  memory: z.string().optional(),
  io: known(ioClasses).optional(),
  pids: z.int().optional(),
  network: known(networks).optional(),
});

const failureView = z.object({
  reason: z.string(),
  code: failureClass,
  detail: z.string().nullable(),
  worker_id: z.string().nullable(),
  attempt: z.int(),
  ts: z.int(),
  last_line: z
    .string()
    .optional()
    .meta({ description: "The last line that the attempt wrote to stderr, cut to 200 characters" }),
});

const isolationView = z.object({
  level: known(isolationLevels),
  applied: z.array(z.string()),
  missing: z.array(z.object({ part: z.string(), why: z.string() })),
  cgroup: z.string().optional().meta({ description: "Its path on the worker, while the job runs" }),
  network: z
    .object({
      allow: z.array(z.string()),
      inject: z.array(z.string()).optional(),
      allowed: z.array(z.object({ host: z.string(), requests: z.int() })),
      denied: z.array(z.object({ host: z.string(), why: z.string(), requests: z.int() })),
    })
    .optional()
    .meta({
      description: "Of a closed network, once the attempt has ended: the first hosts that it asked for",
    }),
});

/** As its worker reported it: what its host does not count is missing. */
const usageView = z.object({
  cpu_ms: z.int().optional(),
  memory_bytes: z.int().optional().meta({ description: "At the last report; only while it runs" }),
  memory_peak_bytes: z.int().optional(),
  oom: z.boolean().optional(),
  pids: z.int().optional().meta({ description: "Processes at the last report; only while it runs" }),
  pids_peak: z.int().optional(),
  io_read_bytes: z.int().optional().meta({ description: "From disks" }),
  io_write_bytes: z.int().optional(),
  network: z
    .object({ requests: z.int(), denied: z.int(), bytes: z.int() })
    .optional()
    .meta({ description: "Of a closed network: what was asked of its proxy" }),
});

/** As the coding agent reported it, by the protocol of its entry: no part of Writ has counted it. */
const agentView = z
  .object({
    tool_calls: z.int(),
    denied: z.int().meta({ description: "Calls that the agent or the kernel refused" }),
    tokens_in: z.int(),
    tokens_out: z.int(),
    cost_usd: z.number().optional(),
    session_id: z.string().optional(),
    model: z.string().optional(),
    earlier: z
      .object({ usd: z.number(), tokens: z.int(), tool_calls: z.int() })
      .optional()
      .meta({ description: "What the attempts before have used, if there were any" }),
    reported_by: z.literal("agent"),
  })
  .meta({ description: "What its coding agent reported in the latest attempt; it was not checked" });

/** Hash and size are as the worker reported them; an older worker reports only the key. */
const outputFileView = z.object({
  folder_id: z.string(),
  object_key: z.string(),
  sha256: z.string().optional(),
  size: z.int().optional(),
});

/** A job as every reader sees it. */
export const jobView = z.object({
  id: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  type: z.string(),
  params: z.unknown(),
  run: runView.nullable(),
  status: z.enum(jobStates),
  priority: z.int(),
  requires: requiresView.nullable(),
  limits: limitsView.nullable(),
  execution_location: known(executionLocations).nullable(),
  provider: known(providers).nullable(),
  model: z.string().nullable(),
  timeout_sec: z.int().meta({ description: "Of the current or the next attempt; each timeout doubles it" }),
  submitted_timeout_sec: z.int().optional().meta({ description: "As it was submitted" }),
  max_runtime_ms: z.int(),
  idempotency_key: z.string(),
  steps: z.array(z.unknown()).nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  worker_id: z.string().nullable(),
  attempt: z.int(),
  attempts: z.int(),
  max_attempts: z.int(),
  ...termViews,
  result: z.unknown(),
  result_hash: z.string().nullable(),
  partial_result: z.unknown(),
  exit_code: z.int().nullable(),
  progress: z.number().nullable(),
  progress_detail: z.string().nullable(),
  created_at: z.int(),
  run_at: z.int(),
  claimed_at: timeOrNull,
  started_at: timeOrNull,
  heartbeat_at: timeOrNull,
  completed_at: timeOrNull,
  cancel_requested_at: timeOrNull,
  held_at: timeOrNull.optional().meta({ description: "Since when it has been held; null if it is not" }),
  execution_time_ms: timeOrNull,
  fail_reason: z.string().nullable(),
  fail_code: failureClass.nullable(),
  fail_detail: z.string().nullable(),
  fail_history: z.array(failureView),
  solver_url: z.string().nullable(),
  solver_checksum: z.string().nullable(),
  isolation: isolationView.nullable(),
  usage: usageView.nullable(),
  agent: agentView.nullable().optional(),
  output: z.object({
    stdout: z.int(),
    stderr: z.int(),
    removed: z.boolean().optional().meta({
      description:
        "True if what the latest attempt wrote is no longer available: it was removed to make room, or not restored with the database. Lists tell only the former",
    }),
    arriving: z.boolean().optional().meta({
      description:
        "True if the job was stopped and its processes are dead, but its worker still sends what they wrote",
    }),
  }),
  output_files: z.array(outputFileView),
  document_sha256: z.string(),
  damaged: z.array(z.string()).optional().meta({
    description:
      "Stored parts that are damaged: they do not match their seal, their hash, the last event or the receipt, or cannot be read. They are null or empty here. `document` is everything that was submitted; `state` is status, attempt and exit code, which are shown as stored",
  }),
});
export type JobView = z.infer<typeof jobView>;

/** A job in a list. Older hubs send whole jobs, without the last three fields. */
export const jobSummary = jobView.extend({
  fail_history: z.array(failureView).nullable(),
  output_files: z.array(outputFileView).nullable(),
  command: z
    .array(z.string())
    .nullable()
    .optional()
    .meta({ description: "The first words of the command; null if the job has none" }),
  last_failure: failureView.nullable().optional().meta({ description: "Why the last attempt failed" }),
  cut: z
    .array(z.string())
    .optional()
    .meta({ description: "Fields that are null only because they are too large for a list" }),
});
export type JobSummary = z.infer<typeof jobSummary>;

export const eventView = z.object({
  seq: z.int(),
  event: z.string(),
  ts: z.int(),
  job_seq: z.int().nullable(),
  severity: z.string(),
  details: z.record(z.string(), z.unknown()),
  user_id: z.string().optional().meta({ description: "Whose call caused it" }),
});
export type EventView = z.infer<typeof eventView>;

/** The parts of a hub that `hub:changed` names. */
export type HubPart = "workers" | "lockdown" | "queues" | "keys";

/** The data of one live event of a job. */
export const liveEvent = z.object({
  id: z.string(),
  type: z.string(),
  status: z.enum(jobStates),
  worker_id: z.string().nullable(),
  attempt: z.int(),
  priority: z.int(),
  ts: z.int(),
  fail_code: z.string().optional(),
  progress: z.number().optional(),
  detail: z.string().optional(),
  call: z.int().optional().meta({ description: "Of `job:agent`: the number of the call in its attempt" }),
  tool: z.string().optional(),
  title: z.string().optional(),
  path: z.string().optional(),
  call_status: known(callStatuses).optional(),
});
export type LiveEvent = z.infer<typeof liveEvent>;

export const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    details: z.unknown().optional(),
    request_id: z.string(),
  }),
});
