import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";

/** The home's knowledge of its database: its id, and the last number of its log a moment ago. Why: ADR 0030. */
type KnownDatabase = { database_id: string; last_seq: number };

const pathOf = (home: string): string => join(home, "database.json");

/** Null if the home has none, or a damaged file: the signed heads contain nearly the same. */
export async function readKnownDatabase(home: string): Promise<KnownDatabase | null> {
  const text = await readPrivateFile(pathOf(home));
  try {
    const known = JSON.parse(text ?? "") as KnownDatabase;
    return typeof known.database_id === "string" && Number.isSafeInteger(known.last_seq) ? known : null;
  } catch {
    // A damaged file; see above.
    return null;
  }
}

export async function writeKnownDatabase(home: string, known: KnownDatabase): Promise<void> {
  await writePrivateFile(pathOf(home), `${JSON.stringify(known)}\n`);
}
