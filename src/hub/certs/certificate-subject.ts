import { WritError } from "../../core/errors.ts";
import { defaultTenant } from "../../core/identity.ts";
import { type DerValue, derTags, insideDer, readDer } from "./der.ts";

export type CertificateSubject = { user: string; tenant: string; isAdmin: boolean };

export const userRule = /^[A-Za-z0-9_.@-]{1,50}$/;
export const tenantRule = /^[A-Za-z0-9_]{3,50}$/;

const adminUnit = "admin";

/**
 * Reads the subject of a certificate: CN is the user, O the tenant, OU=admin an administrator. It is read from the
 * signed bytes and not from a printed form, in which one name could look like two. Ambiguous subjects are refused: a
 * repeated name, several names in one part, empty names, control characters. Why: ADR 0012.
 */
export function readSubject(certificate: Buffer): CertificateSubject {
  const names = subjectNames(certificate);
  const user = single(names, "CN");
  if (user === null) throw refused("the certificate has no user (CN)");
  if (!userRule.test(user)) throw refused("the certificate's CN must be 1 to 50 letters, digits, _ . - or @");
  const tenant = single(names, "O") ?? defaultTenant;
  if (!tenantRule.test(tenant)) throw refused("the certificate's O must be 3 to 50 letters, digits or _");
  return { user, tenant, isAdmin: single(names, "OU") === adminUnit };
}

type Name = { type: string; value: string };

const typeNames: Record<string, string> = { "550403": "CN", "55040a": "O", "55040b": "OU" };

function subjectNames(certificate: Buffer): Name[] {
  const [whole, rest] = readDer(certificate);
  if (rest !== undefined) throw refused("the certificate cannot be read");
  const [signedPart] = insideDer(whole, derTags.sequence);
  const parts = insideDer(signedPart, derTags.sequence);
  // version (optional), serial, algorithm, issuer, validity, subject
  const subject = parts[parts[0]?.tag === derTags.version ? 5 : 4];
  return insideDer(subject, derTags.sequence).map(readName);
}

function readName(part: DerValue): Name {
  const [pair, second] = insideDer(part, derTags.set);
  if (second !== undefined) throw refused("the certificate's subject has several names in one part");
  const [type, value] = insideDer(pair, derTags.sequence);
  if (type?.tag !== derTags.oid || value === undefined)
    throw refused("the certificate's subject cannot be read");
  return { type: typeNames[type.content.toString("hex")] ?? "other", value: readText(value) };
}

const textTags: number[] = [derTags.utf8String, derTags.printableString, derTags.ia5String];

function readText({ tag, content }: DerValue): string {
  if (!textTags.includes(tag)) throw refused("the certificate's subject has an unusual text type");
  const text = content.toString("utf8");
  if (text === "" || /[\u0000-\u001f\u007f-\u009f\ufffd]/.test(text)) {
    throw refused("the certificate's subject has an empty name or control characters");
  }
  return text;
}

function single(names: Name[], type: string): string | null {
  const [first, second] = names.filter((name) => name.type === type);
  if (second !== undefined) throw refused(`the certificate's subject has more than one ${type}`);
  return first?.value ?? null;
}

function refused(why: string): WritError {
  return new WritError("UNAUTHENTICATED", why);
}
