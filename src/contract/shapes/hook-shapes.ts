import { z } from "zod";
import { integer, known, orderName, pattern, tenantId } from "./fields.ts";
import { templateJob } from "./schedule-shapes.ts";

const headerName = pattern(/^[A-Za-z0-9-]{1,100}$/, "the name of a header: 1 to 100 letters, digits or -");
const proof = z.union([
  z.enum(["standard-webhooks", "github"]),
  z.strictObject({ hmac_sha256_header: headerName }),
]);

export const hookBody = z.strictObject({
  job: templateJob.superRefine((job, context) => {
    const { params, run } = job;
    const isGiven = params !== undefined || (run !== undefined && "job_input" in run);
    if (isGiven)
      context.addIssue({ code: "custom", message: "must have no input: that is the body of each call" });
  }),
  verify: proof.meta({
    description: "How a call is signed: `standard-webhooks`, `github`, or with an HMAC-SHA256 in a header",
  }),
  tolerance_sec: integer(1, 86_400, "seconds")
    .optional()
    .meta({ description: "How old a call may be, and how long a repeated one is recognised; default 300" }),
});
export const deliveryParams = z.strictObject({ tenant: tenantId, name: orderName });
export const deliveryView = z.object({ id: z.string() });

export const hookView = z.object({
  name: z.string(),
  tenant_id: z.string(),
  user_id: z.string(),
  state: known(["active", "damaged"]),
  path: z.string().meta({ description: "Where it is called, below the hub's address" }),
  job: z.record(z.string(), z.unknown()).nullable(),
  verify: proof,
  tolerance_sec: z.int(),
  secret: z.string().optional().meta({ description: "Shown once: when the hook is made" }),
  created_at: z.int(),
  changed_at: z.int(),
});
