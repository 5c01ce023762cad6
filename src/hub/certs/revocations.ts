// Revoked certificates: a list of serial numbers in the home. Why: ADR 0012.
import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { tryParseJson } from "../../core/text/json-value.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";
import { FollowedFile } from "./followed-file.ts";

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

/** The revoked serial numbers. If the list cannot be read, every certificate is refused. */
export class RevocationList {
  readonly #file: FollowedFile<ReadonlySet<string>>;

  constructor(path: string) {
    this.#file = new FollowedFile(path, (text) => new Set(text === null ? [] : parse(path, text)));
  }

  has(serial: string): boolean {
    return this.current().has(serialText(serial));
  }

  /** All revoked serials, for a caller that checks many at once. */
  current(): ReadonlySet<string> {
    return this.#file.read();
  }
}

export async function readRevocations(path: string): Promise<Revocation[]> {
  const text = await readPrivateFile(path);
  return text === null ? [] : parseEntries(path, text);
}

/** Call it under the lock. */
export async function addRevocations(path: string, added: Revocation[]): Promise<void> {
  const present = await readRevocations(path);
  const known = new Set(present.map(({ serial }) => serial));
  const fresh = added.filter(({ serial }) => !known.has(serial));
  if (fresh.length > 0) {
    await writePrivateFile(path, `${JSON.stringify({ revoked: [...present, ...fresh] }, null, 2)}\n`);
  }
}

function parse(path: string, text: string): string[] {
  return parseEntries(path, text).map(({ serial }) => serialText(serial));
}

function parseEntries(path: string, text: string): Revocation[] {
  const parsed = shape.safeParse(tryParseJson(text));
  if (parsed.success) return parsed.data.revoked;
  throw new WritError("CONFIG_INVALID", `${path} is not a list of revoked certificates; restore it`);
}
