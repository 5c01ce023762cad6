import { z } from "zod";
import { outputLocation } from "../document.ts";
import { anyJson, folderId, integer, jobType, objectKey, sha256Text, tenantId, text } from "./fields.ts";
import { command, variables } from "./run-shapes.ts";

/** What `writ-agent run-job` is given and what it answers: between a worker and a container, or by hand. */

/** It becomes the name of files. */
export const agentJobId = z
  .string()
  .regex(
    /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/,
    "must be 1 to 200 letters, digits, . _ or -, and must not begin with a dot",
  );

const workerInterface = z.discriminatedUnion(
  "kind",
  [
    z.strictObject({ kind: z.literal("exec_per_job") }),
    z.strictObject({ kind: z.literal("persistent_http"), port: integer(1, 65_535) }),
  ],
  "must have a kind: exec_per_job or persistent_http",
);

export const agentPayload = z.strictObject({
  job_id: agentJobId,
  job_class: jobType,
  worker_command: command,
  interface: workerInterface,
  job_input: anyJson.optional(),
  job_token: text(1, 8192).optional(),
  platform_url: text(1, 2048).optional(),
  output_location: outputLocation.optional(),
  // A worker that runs the job in a container also sends what follows.
  attempt: integer(1, Number.MAX_SAFE_INTEGER).optional(),
  tenant_id: tenantId.optional(),
  /** 0 means no limit, which is the default. */
  timeout_sec: integer(0, 604_800).optional(),
  /** False: the caller reports start and end, and the agent only uploads files. */
  report: z.boolean().optional(),
  /** Further variables of the process; their values are masked in its output. */
  secrets: variables.optional(),
  /** The authority that signed the certificate of `platform_url`. */
  ca: text(1, 10_000).optional(),
});
export type AgentPayload = z.infer<typeof agentPayload>;

/** The one line that `run-job` prints. */
export const agentReport = z.object({
  success: z.boolean(),
  job_id: z.string(),
  job_class: z.string(),
  exit_code: z.int(),
  result: anyJson.optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  output_files: z
    .array(
      z.object({
        folder_id: folderId,
        object_key: objectKey,
        sha256: sha256Text,
        size: integer(0, Number.MAX_SAFE_INTEGER),
      }),
    )
    .max(10_000)
    .optional(),
});
export type AgentReport = z.infer<typeof agentReport>;
