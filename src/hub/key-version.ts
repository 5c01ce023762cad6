import { join } from "node:path";
import { WritError } from "../core/errors.ts";
import { readPrivateFile, writePrivateFile } from "../runtime/files/private-file.ts";
import type { HubDeps } from "./deps.ts";
import { recordKeyRejected } from "./use-cases/access/manage-keys.ts";

type VersionDeps = Pick<HubDeps, "home" | "keys" | "store" | "clock" | "logger">;

const pathOf = (home: string): string => join(home, "key-ring.version");

/**
 * Records when the key ring is older than the one that this hub has used before, because keys that were revoked
 * meanwhile are trusted again. A running hub refuses such a ring; a starting hub has no other.
 */
export async function checkKeyVersion(deps: VersionDeps): Promise<void> {
  const { version } = deps.keys;
  const seen = Number((await readPrivateFile(pathOf(deps.home))) ?? 0);
  if (seen > version) {
    const message =
      `the key ring is older than the one that this hub has used: version ${version}, and before that ${seen}; ` +
      "keys that were revoked meanwhile are trusted again";
    deps.logger.error({ version, seen }, message);
    await recordKeyRejected(deps, null, new WritError("KEY_REJECTED", message));
  }
  if (seen !== version) await noteKeyVersion(deps);
}

/** Stores the version of the ring that the hub uses now. */
export async function noteKeyVersion({ home, keys }: Pick<HubDeps, "home" | "keys">): Promise<void> {
  await writePrivateFile(pathOf(home), `${keys.version}\n`);
}
