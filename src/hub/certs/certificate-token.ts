import { timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { tryParseJson } from "../../core/text/json-value.ts";
import { macOfText } from "../../signing/mac.ts";
import type { CertificateFacts } from "./verify-peer.ts";

const tokenPrefix = "sk_cert_";
const purpose = "writ certificate token 1\n";
const lifetimeMs = 600_000;

const claims = z.strictObject({
  serial: z.string(),
  fingerprint: z.string(),
  subject: z.strictObject({ user: z.string(), tenant: z.string(), isAdmin: z.boolean() }),
  validFromMs: z.int(),
  validToMs: z.int(),
  expiresAt: z.int(),
});
type Claims = z.infer<typeof claims> & CertificateFacts;

/**
 * A token for HTTP that stands for a certificate for ten minutes. It contains the facts of the certificate, under the
 * hub's MAC: the hub stores nothing for it, any hub with the same keys can verify it, and the certificate is checked
 * again at each call. Why: ADR 0036.
 */
export function makeCertificateToken(
  macKey: Buffer,
  { serial, fingerprint, subject, validFromMs, validToMs }: CertificateFacts,
  nowMs: number,
): { token: string; expiresAt: number } {
  const expiresAt = Math.min(nowMs + lifetimeMs, validToMs);
  const facts = { serial, fingerprint, subject, validFromMs, validToMs, expiresAt } satisfies Claims;
  const text = Buffer.from(JSON.stringify(facts)).toString("base64url");
  return { token: `${tokenPrefix}${text}.${macOf(macKey, text).toString("base64url")}`, expiresAt };
}

export function isCertificateToken(bearer: string): boolean {
  return bearer.startsWith(tokenPrefix);
}

/** The certificate behind a token that the hub has made and that has not expired, else null. */
export function readCertificateToken(macKey: Buffer, bearer: string, nowMs: number): CertificateFacts | null {
  const [text = "", mac = "", rest] = bearer.slice(tokenPrefix.length).split(".");
  const given = Buffer.from(mac, "base64url");
  const own = macOf(macKey, text);
  if (rest !== undefined || given.length !== own.length || !timingSafeEqual(given, own)) return null;
  // A newer hub with the same keys may put other fields into its tokens.
  const { data } = claims.safeParse(tryParseJson(Buffer.from(text, "base64url").toString("utf8")));
  if (data === undefined || data.expiresAt <= nowMs) return null;
  const { expiresAt: _, ...facts } = data;
  return facts;
}

function macOf(macKey: Buffer, text: string): Buffer {
  return macOfText(macKey, purpose, text);
}
