import type { X509Certificate } from "node:crypto";
import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { tryParseJson } from "../../core/text/json-value.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";
import { FollowedFile } from "./followed-file.ts";

const shape = z.strictObject({ fingerprints: z.array(z.string().regex(/^[0-9a-f]{64}$/)) });

/**
 * The certificates of the home's owner, by fingerprint. They and `admin.token` identify the same person: an
 * administrator of all tenants. Any other certificate with OU=admin is an administrator of its own tenant. Why: ADR
 * 0036.
 */
export class HomeAdmins {
  readonly #file: FollowedFile<ReadonlySet<string>>;

  constructor(path: string) {
    this.#file = new FollowedFile(path, (text) => new Set(text === null ? [] : parse(path, text)));
  }

  has(fingerprint: string): boolean {
    return this.#file.read().has(fingerprint);
  }
}

/** SHA-256 of a certificate, in hex. */
export function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(":", "").toLowerCase();
}

export async function isHomeAdmin(path: string, fingerprint: string): Promise<boolean> {
  return (await readFingerprints(path)).includes(fingerprint);
}

/** Call it under the lock. A renewed certificate is added; the old one stays until it expires or is revoked. */
export async function addHomeAdmin(path: string, fingerprint: string): Promise<void> {
  const present = await readFingerprints(path);
  if (present.includes(fingerprint)) return;
  const fingerprints = [...present, fingerprint];
  await writePrivateFile(path, `${JSON.stringify({ fingerprints }, null, 2)}\n`);
}

async function readFingerprints(path: string): Promise<string[]> {
  const text = await readPrivateFile(path);
  return text === null ? [] : parse(path, text);
}

function parse(path: string, text: string): string[] {
  const parsed = shape.safeParse(tryParseJson(text));
  if (parsed.success) return parsed.data.fingerprints;
  throw new WritError(
    "CONFIG_INVALID",
    `${path} is not a list of fingerprints; remove it and restart the hub`,
  );
}
