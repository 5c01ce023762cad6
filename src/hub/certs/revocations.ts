import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { tryParseJson } from "../../core/json-value.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/private-file.ts";

type Revocation = { serial: string; user: string | null; revoked_at: number };

const shape = z.strictObject({
  revoked: z.array(
    z.strictObject({
      serial: z.string().regex(/^[0-9A-F]{1,64}$/),
      user: z.string().nullable(),
      revoked_at: z.int(),
    }),
  ),
});

/** Normalises a serial number: upper case, no colons, no leading zeros. */
export function serialText(serial: string): string {
  return serial
    .replaceAll(":", "")
    .toUpperCase()
    .replace(/^0+(?=.)/, "");
}

/**
 * The revoked serial numbers. Checking the file's times costs microseconds, so every call checks, and what another
 * program has revoked takes effect at the next call. If the list cannot be read, nobody is let in.
 */
export class RevocationList {
  readonly #path: string;
  #seen = "";
  #serials: ReadonlySet<string> = new Set();

  constructor(path: string) {
    this.#path = path;
  }

  has(serial: string): boolean {
    const stat = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    const seen = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
    if (seen !== this.#seen) {
      this.#serials = new Set(stat === undefined ? [] : parse(this.#path, readFileSync(this.#path, "utf8")));
      this.#seen = seen;
    }
    return this.#serials.has(serialText(serial));
  }
}

export async function readRevocations(path: string): Promise<Revocation[]> {
  const text = await readPrivateFile(path);
  return text === null ? [] : parseEntries(path, text);
}

/** Call it under the lock. Returns the serials that were not on the list before. */
export async function addRevocations(path: string, added: Revocation[]): Promise<string[]> {
  const present = await readRevocations(path);
  const known = new Set(present.map(({ serial }) => serial));
  const fresh = added.filter(({ serial }) => !known.has(serial));
  if (fresh.length > 0) {
    await writePrivateFile(path, `${JSON.stringify({ revoked: [...present, ...fresh] }, null, 2)}\n`);
  }
  return fresh.map(({ serial }) => serial);
}

function parse(path: string, text: string): string[] {
  return parseEntries(path, text).map(({ serial }) => serialText(serial));
}

function parseEntries(path: string, text: string): Revocation[] {
  const parsed = shape.safeParse(tryParseJson(text));
  if (parsed.success) return parsed.data.revoked;
  throw new WritError("CONFIG_INVALID", `${path} is not a list of revoked certificates; restore it`);
}
