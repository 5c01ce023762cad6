import { z } from "zod";
import { roles } from "../../core/identity.ts";
import { decimal, integer, tenantId, text, userId, workerId } from "./fields.ts";

export const tokenRequest = z
  .strictObject({
    role: z.enum(roles, "must be admin, user, worker or viewer"),
    tenant_id: tenantId.optional(),
    user_id: userId.optional(),
    worker_id: workerId.optional(),
    expires_in_sec: integer(1, 10 * 365 * 86_400).optional(),
  })
  .superRefine((token, context) => {
    if (token.worker_id !== undefined && token.role !== "worker") {
      context.addIssue({ code: "custom", path: ["worker_id"], message: "is allowed only for worker tokens" });
    }
  });

export const refreshRequest = z.strictObject({ expires_in_sec: integer(1, 10 * 365 * 86_400).optional() });
export const tokenAnswer = z.object({
  id: z.string(),
  token: z.string().meta({ description: "Shown once" }),
});

export const sessionRequest = z.strictObject({
  token: text(1, 200).optional(),
  code: text(1, 100).optional().meta({ description: "A code of POST /session/code, instead of a token" }),
});
export const shownSetting = z.object({
  name: z.string(),
  value: z.unknown().meta({ description: "Null if it is not set, or if it is a secret" }),
  is_secret: z.boolean(),
  from: z.enum(["flag", "environment", "file", "default"]),
});
export const hubsView = z.object({
  database: z.object({
    kind: z.enum(["sqlite", "postgresql"]),
    server: z.string().meta({ examples: ["PostgreSQL 15.4"] }),
    schema_version: z.int(),
  }),
  files: z.enum(["home", "store"]).meta({
    description: "Where files are kept: in the home of each hub, or in an object store that all of them use",
  }),
  hubs: z.array(
    z.object({
      name: z.string().meta({ description: "Its machine and its home" }),
      url: z.string(),
      version: z.string(),
      started_at: z.int(),
      leader: z.boolean().meta({ description: "Whether it does what only one of them may do" }),
    }),
  ),
});
export type HubsView = z.infer<typeof hubsView>;
export const loginCode = z.object({ code: z.string(), expires_in_sec: z.int() });

const countMax = Number.MAX_SAFE_INTEGER;
export const quota = z.strictObject({
  max_pending: integer(0, countMax).optional(),
  max_queues: integer(1, 1_000_000)
    .optional()
    .meta({ description: "How many queues may hold pending jobs; 10,000 if it is left out" }),
  max_running: integer(0, countMax).optional(),
  submits_per_sec: integer(1, 1_000_000).optional(),
  max_output_bytes: integer(0, countMax).optional(),
  max_artifact_bytes: integer(0, countMax).optional(),
  max_schedules: integer(0, 1_000_000)
    .optional()
    .meta({ description: "How many schedules there may be; 1,000 if it is left out" }),
  max_agent_usd_per_day: decimal(0, 1_000_000)
    .optional()
    .meta({ description: "What coding agents may report to have cost in one UTC day" }),
  max_agent_tokens_per_day: integer(0, countMax).optional(),
  max_agent_tool_calls_per_day: integer(0, countMax).optional(),
  max_webhooks: integer(0, 1_000)
    .optional()
    .meta({ description: "How many webhooks there may be; 20 if it is left out" }),
  max_hooks: integer(0, 10_000)
    .optional()
    .meta({ description: "How many hooks there may be; 100 if it is left out" }),
});

export const quotaLimits = Object.keys(quota.shape) as (keyof typeof quota.shape)[];
/** What a tenant may use, and what it uses now. */
export const tenantQuota = z.object({
  tenant_id: z.string(),
  quota,
  pending: z.int().meta({ description: "With the scheduled ones, which max_pending counts too" }),
  scheduled: z.int().optional(),
  active: z.int(),
});

/** How long the old key stays valid in an emergency; 30 days are more than any notice needs. */
export const rotateRequest = z.strictObject({
  emergency: z.boolean().optional(),
  notice_sec: integer(0, 30 * 86_400).optional(),
});
export const revokeRequest = z.strictObject({ now: z.boolean().optional() });

export const queueSetting = z.strictObject({ paused: z.boolean() });
export const queueView = z.object({
  tenant_id: z.string().nullable().meta({ description: "null for a paused type that has no jobs" }),
  type: z.string(),
  paused: z.boolean(),
  pending: z.int().meta({ description: "With the scheduled ones" }),
  scheduled: z
    .int()
    .optional()
    .meta({ description: "Jobs that have never been claimed, and whose run_at has not come" }),
  active: z.int(),
});
