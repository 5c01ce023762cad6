import { z } from "zod";
import { type EventKind, eventTable, type Severity } from "../../core/events.ts";
import { jobId, queryInteger, tenantId, text, userId } from "./fields.ts";

const kinds = Object.keys(eventTable) as [EventKind, ...EventKind[]];
const severities = ["LOW", "MEDIUM", "HIGH", "CRITICAL"] as const satisfies readonly Severity[];
const moment = queryInteger(0, Number.MAX_SAFE_INTEGER);

/** `people` has what people did, without what follows from it. */
const auditViews = ["all", "people"] as const;

export const auditQuery = z.strictObject({
  view: z.enum(auditViews, `must be ${auditViews.join(" or ")}`).optional(),
  event: z.enum(kinds, "must be the name of an event").optional(),
  user_id: userId.optional(),
  tenant_id: tenantId.optional(),
  job_id: jobId.optional(),
  severity: z.enum(severities, "must be LOW, MEDIUM, HIGH or CRITICAL").optional(),
  since: moment.optional(),
  until: moment.optional(),
  cursor: moment.optional(),
  after: moment.optional().meta({ description: "Only records with a higher seq, to read what is new" }),
  limit: queryInteger(1, 1_000).optional(),
});

/** One record of the audit trail with its position in the hash chain. */
export const auditView = z.object({
  seq: z.int(),
  event: z.string(),
  timestamp: z.string(),
  severity: z.enum(severities),
  user_id: z.string().nullable(),
  tenant_id: z.string().nullable(),
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  job_id: z.string().nullable(),
  job_seq: z.int().nullable(),
  owner_id: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
  context: z.object({ endpoint: z.string().nullable(), method: z.string().nullable() }),
  prev_hash: z.string(),
  hash: z.string(),
});
export type AuditView = z.infer<typeof auditView>;

export const lockdownRequest = z.strictObject({ reason: text(1, 500) });

/** Without a tenant, the lockdown of the hub is meant. */
export const lockdownQuery = z.strictObject({ tenant_id: tenantId.optional() });

export const lockdownView = z.object({
  locked: z.boolean(),
  reason: z.string().nullable(),
  user_id: z.string().nullable(),
  since: z.int().nullable(),
  /** Tenants whose jobs are not given out, as far as the caller may know of them. */
  tenants: z.array(z.object({ tenant_id: z.string(), reason: z.string(), since: z.int() })).optional(),
  /** The channels by which administrators receive alerts. */
  alert_channels: z.array(z.string()),
});
export type LockdownView = z.infer<typeof lockdownView>;

export const auditCheckView = z.object({
  status: z.enum(["none", "running", "done", "failed"]),
  started_at: z.int().nullable(),
  ended_at: z.int().nullable(),
  through: z.int().meta({ description: "The last record that was checked so far" }),
  last: z.int().meta({ description: "The last record when the check began" }),
  reason: z.string().nullable().meta({ description: "Why the check failed" }),
  verdict: z
    .object({
      ok: z.boolean(),
      records: z.int(),
      first: z.int(),
      last: z.int(),
      unsealed: z.int().meta({ description: "Newest records that were not sealed yet" }),
      signed_through: z.int(),
      faults: z.array(z.object({ seq: z.int().nullable(), what: z.string() })),
      more: z.boolean().meta({ description: "More faults were found than are listed" }),
      unchecked: z
        .array(z.string())
        .optional()
        .meta({ description: "What could not be checked at this hub, and what to do about it" }),
    })
    .nullable(),
});
export type AuditCheckView = z.infer<typeof auditCheckView>;
