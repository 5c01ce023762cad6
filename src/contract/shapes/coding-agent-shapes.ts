import { z } from "zod";
import { callStatuses } from "../../core/agents/agent-use.ts";
import { integer, text } from "./fields.ts";
import { fence } from "./report-shapes.ts";

/* What a worker reports of a coding agent while it runs, and asks on its behalf. */

/** A bound for one report; a worker sends more in several. */
export const agentCallsMax = 100;
export const agentRequest = z.strictObject({
  ...fence,
  calls: z
    .array(
      z.strictObject({
        call: integer(1, 1_000_000),
        tool: text(1, 100),
        title: text(0, 500),
        path: text(1, 1000).optional(),
        status: z.enum(callStatuses),
      }),
    )
    .min(1)
    .max(agentCallsMax),
});
export const allowanceRequest = z.strictObject(fence);
const allowance = z.object({
  usd: z.int().optional().meta({ description: "Millionths of a dollar" }),
  tokens: z.int().optional(),
  tool_calls: z.int().optional(),
});
export const allowanceAnswer = z.object({ job: allowance.optional(), tenant: allowance.optional() });
