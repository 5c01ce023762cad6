import type { Hubs, Writ } from "../../../client/index.ts";
import { hasCode } from "../../../core/errors.ts";
import type { Finding } from "./doctor.ts";

/** What the database is, and which hubs serve it. */
export async function examineHubs(writ: Writ): Promise<Finding[]> {
  const fleet = await hubsOf(writ);
  if (fleet === null) return [];
  const { database, hubs } = fleet;
  const says = `${database.server}, schema ${database.schema_version}`;
  const found: Finding = { check: "database", state: "ok", says };
  if (database.kind === "sqlite") return [found];
  const list = hubs.map(({ url, name, leader }) => `${url} (${name}${leader ? ", leads" : ""})`).join(", ");
  const serving: Finding = hubs.some(({ leader }) => leader)
    ? { check: "hubs", state: "ok", says: `${hubs.length} on this database: ${list}` }
    : {
        check: "hubs",
        state: "warning",
        says: `none of them leads at present: ${list}; look again in a moment`,
      };
  return [found, serving];
}

/** Where files are kept. Whether an object store can be used is in the hub's log: it tries that when it starts. */
export async function examineFiles(writ: Writ): Promise<Finding[]> {
  const settings = await writ.settings();
  const settingOf = (wanted: string) => settings.find(({ name }) => name === wanted)?.value ?? null;
  const [bucket, endpoint] = [settingOf("WRIT_S3_BUCKET"), settingOf("WRIT_S3_ENDPOINT")];
  if (bucket === null) return [filesInHomes((await hubsOf(writ))?.hubs.length ?? 1)];
  const says = `are kept in bucket ${bucket} at ${endpoint}`;
  if (settingOf("WRIT_S3_PLAINTEXT") !== true) return [{ check: "files", state: "ok", says }];
  return [{ check: "files", state: "warning", says: `${says}, unencrypted on the way (WRIT_S3_PLAINTEXT)` }];
}

function filesInHomes(hubs: number): Finding {
  if (hubs < 2) return { check: "files", state: "ok", says: "are kept in the hub's home" };
  const says = `each of ${hubs} hubs keeps files in its own home: jobs with files fail at a hub that does not have them; set the same WRIT_S3_ENDPOINT and WRIT_S3_BUCKET at all hubs`;
  return { check: "files", state: "warning", says };
}

/** Null if the hub is older than this question. */
export async function hubsOf(writ: Writ): Promise<Hubs | null> {
  try {
    return await writ.hubs();
  } catch (error) {
    if (hasCode(error, "NOT_FOUND")) return null;
    throw error;
  }
}
