import { z } from "zod";
import { roles } from "../../core/identity.ts";

/** What the hub returns about identities, certificates, keys and receipts: as open as the other views. */

const timeOrNull = z.int().nullable();

export const tokenView = z.object({
  id: z.string(),
  role: z.enum(roles),
  tenant_id: z.string().nullable(),
  user_id: z.string(),
  worker_id: z.string().nullable(),
  created_at: z.int(),
  expires_at: timeOrNull,
  revoked_at: timeOrNull,
});

export const certView = z.object({
  serial: z.string(),
  kind: z.enum(["authority", "server", "client"]),
  user_id: z.string().nullable(),
  tenant_id: z
    .string()
    .nullable()
    .meta({ description: "null for the hub's own and for administrators of the hub" }),
  role: z.enum(roles).nullable(),
  issued_at: z.int(),
  expires_at: z.int(),
  revoked_at: timeOrNull,
  certificate: z
    .string()
    .nullable()
    .meta({ description: "The authority's own, in PEM, for machines that have to trust it; else null" }),
});

export const identityView = z.object({
  role: z.enum(roles),
  tenant_id: z.string().nullable(),
  user_id: z.string(),
  worker_id: z.string().nullable(),
  session_id: z
    .string()
    .optional()
    .meta({ description: "The session of the cookie that was sent; absent for a token" }),
});

export const keyView = z.object({
  key_id: z.string(),
  public_key: z.string(),
  status: z.string(),
  not_before: z.int(),
  not_after: timeOrNull,
});

const keySignature = z.object({ key_id: z.string(), signature: z.string() });

/** A hub from before key sets existed returns only its keys. */
export const keysView = z.object({
  version: z.int().optional(),
  keys: z.array(keyView),
  /** Keys and version as one text, signed by every key that may sign. */
  key_set: z.object({ text: z.string(), signatures: z.array(keySignature) }).optional(),
  /** The last text that each revoked key signed: `{"revoke":"<key id>"}`. */
  revocations: z.array(keySignature).optional(),
});
export type KeysView = z.infer<typeof keysView>;

/** A receipt with everything needed to check it without the hub. The texts are exactly what was signed. */
export const receiptView = z.object({
  job_id: z.string(),
  attempt: z.int(),
  document: z.string().nullable(),
  signature: z.string().nullable(),
  grant: z.string(),
  grant_signature: z.string(),
  key_id: z.string(),
  worker: z.object({ worker_id: z.string(), public_key: z.string().nullable() }),
  receipt: z.string(),
  signed: z.string(),
  receipt_signature: z.string(),
  result: z.string().nullable(),
  /** False if the result was deleted with its job and only the receipt is left. Older hubs do not send it. */
  result_kept: z.boolean().optional(),
});
export type ReceiptView = z.infer<typeof receiptView>;
