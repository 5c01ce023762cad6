import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { WritError } from "../../../core/errors.ts";
import { storageMethods } from "../../../core/storage-policy.ts";
import { tryParseJson } from "../../../core/text/json-value.ts";
import { macOfText } from "../../../signing/mac.ts";

const purpose = "writ file URL 1\n";

/** How long a URL for a file is valid. */
export const urlSec = 900;

const claims = z.strictObject({
  method: z.enum([...storageMethods, "POST"]),
  /** The upload or file; null for a DELETE, which is about everything under the key. */
  id: z.string().nullable(),
  tenantId: z.string(),
  /** Null for an administrator, who may delete what others have stored. */
  userId: z.string().nullable(),
  folderId: z.string(),
  objectKey: z.string(),
  jobId: z.string().nullable(),
  attempt: z.int().nullable(),
  size: z.int().nullable(),
  sha256: z.string().nullable(),
  /** Set when the file is shown as a picture, not downloaded. */
  imageType: z.string().optional(),
  expiresAt: z.int(),
});

/** The permission in a URL: one method on one file, until it expires. Why: ADR 0041. */
export type FileTicket = z.infer<typeof claims>;

/** Makes the part of a URL with the permission, under the hub's MAC: the hub stores nothing for it. */
export function makeTicket(macKey: Buffer, ticket: FileTicket): string {
  const text = Buffer.from(JSON.stringify(ticket)).toString("base64url");
  return `${text}.${macOf(macKey, text).toString("base64url")}`;
}

/** Reads a ticket of this hub, for this method, that has not expired; anything else is PERMISSION_DENIED. */
export function readTicket(
  macKey: Buffer,
  text: string,
  { method, nowMs }: { method: string; nowMs: number },
): FileTicket {
  const [body = "", mac = "", ...more] = text.split(".");
  const given = Buffer.from(mac, "base64url");
  const own = macOf(macKey, body);
  if (more.length > 0 || given.length !== own.length || !timingSafeEqual(given, own)) {
    throw refused("it was not signed by this hub, or was changed");
  }
  const { data } = claims.safeParse(tryParseJson(Buffer.from(body, "base64url").toString("utf8")));
  if (data === undefined) throw refused("it was made by another version of the hub");
  if (data.expiresAt <= nowMs) throw refused("it has expired; ask for a new one");
  // A ticket for PUT also allows HEAD, which tells how much has arrived.
  const isAllowed = data.method === method || (method === "HEAD" && data.method === "PUT");
  if (!isAllowed) throw refused(`it is for ${data.method}, not for ${method}`);
  return data;
}

function macOf(macKey: Buffer, text: string): Buffer {
  return macOfText(macKey, purpose, text);
}

function refused(why: string): WritError {
  return new WritError("PERMISSION_DENIED", `the URL is refused: ${why}`);
}
