import { createHmac, timingSafeEqual } from "node:crypto";
import { sha256Hex } from "../../../signing/mac.ts";
import type { Hook } from "./hook-record.ts";

export type Delivery = { header(name: string): string | undefined; body: Uint8Array };

/**
 * Null if the delivery was not signed with the secret; else what tells it from others. That is only what the signature covers: a
 * number in a header that it does not cover could be changed by somebody who repeats a delivery. Why: ADR 0143.
 */
export function verifyDelivery(
  { verify, tolerance_sec }: Pick<Hook, "verify" | "tolerance_sec">,
  { header, body }: Delivery,
  { secret, nowMs }: { secret: string; nowMs: number },
): string | null {
  if (verify === "standard-webhooks") {
    const [id, sentAt] = [header("webhook-id"), header("webhook-timestamp")];
    if (id === undefined || sentAt === undefined || !/^\d{1,12}$/.test(sentAt)) return null;
    if (Math.abs(nowMs / 1_000 - Number(sentAt)) > tolerance_sec) return null;
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const expected = macOf(key, Buffer.from(`${id}.${sentAt}.`), body);
    const given = (header("webhook-signature") ?? "").split(" ").slice(0, signaturesMax);
    const isSigned = given.some((one) => one.startsWith("v1,") && isSame(one.slice(3), "base64", expected));
    return isSigned ? `id ${id}` : null;
  }
  const name = verify === "github" ? "x-hub-signature-256" : verify.hmac_sha256_header;
  const given = header(name.toLowerCase()) ?? "";
  if (verify === "github" && !given.startsWith("sha256=")) return null;
  const expected = macOf(Buffer.from(secret), body);
  const text = given.replace(/^sha256=/, "");
  if (!isSame(text, "hex", expected) && !isSame(text, "base64", expected)) return null;
  return `body ${sha256Hex(body)}`;
}

/** Senders have two at most, while a secret is rotated. */
const signaturesMax = 10;

function macOf(key: Buffer, ...parts: Uint8Array[]): Buffer {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

function isSame(text: string, encoding: "hex" | "base64", expected: Buffer): boolean {
  const found = Buffer.from(text, encoding);
  return found.length === expected.length && timingSafeEqual(found, expected);
}
