import { z } from "zod";
import { downloadUrlProblem } from "../../core/download-url.ts";
import { webhookEvents } from "../../core/webhooks/webhook.ts";
import { integer, jobType, known, text, userId } from "./fields.ts";

const filterMax = 50;

export const webhookBody = z.strictObject({
  url: text(1, 2_000).superRefine((url, context) => {
    const message = downloadUrlProblem(url);
    if (message !== null) context.addIssue({ code: "custom", message });
  }),
  events: z
    .array(z.enum(webhookEvents as [string, ...string[]]))
    .min(1)
    .max(webhookEvents.length),
  filter: z
    .strictObject({
      types: z.array(jobType).min(1).max(filterMax).optional(),
      user_ids: z.array(userId).min(1).max(filterMax).optional(),
    })
    .optional()
    .meta({ description: "Only events of jobs of these types, and of these users" }),
});
export const redeliverBody = z.strictObject({ from_seq: integer(1, Number.MAX_SAFE_INTEGER) });

export const webhookStates = ["active", "failing", "disabled", "damaged"] as const;

export const webhookView = z.object({
  name: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  state: known(webhookStates),
  url: z.string(),
  events: z.array(z.string()),
  filter: z.object({ types: z.array(z.string()).optional(), user_ids: z.array(z.string()).optional() }),
  seq: z.int().meta({ description: "Everything up to this event was delivered or passed" }),
  delivered: z.object({
    count: z.int(),
    last: z.object({ seq: z.int(), at: z.int() }).nullable(),
  }),
  given_up: z.object({
    count: z.int(),
    last: z.object({ seq: z.int(), job_id: z.string(), status: z.int(), at: z.int() }).nullable(),
  }),
  failing: z
    .object({
      seq: z.int(),
      since: z.int(),
      tries: z.int(),
      refusals: z.int().meta({ description: "Answers of 4xx to this event; after five it is given up" }),
      reason: z.string(),
      next_at: z.int(),
    })
    .nullable(),
  disabled: z.object({ at: z.int(), reason: z.string() }).nullable(),
  secrets: z
    .array(z.object({ created_at: z.int(), expires_at: z.int().nullable() }))
    .meta({ description: "Two for a day after `rotate`, the newest first" }),
  secret: z
    .string()
    .optional()
    .meta({ description: "Shown once: when the webhook is made, and by `rotate`" }),
  created_at: z.int(),
  changed_at: z.int(),
});
