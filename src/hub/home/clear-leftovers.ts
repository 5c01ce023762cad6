import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isTemporaryFile } from "../../runtime/files/private-file.ts";
import { findLeftovers as findIn, removeLeftovers } from "../../runtime/files/remove-leftovers.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import { type HubSettings, placesOf } from "../settings/settings.ts";
import { backupPrefix, restorePrefix, takeOverPrefix } from "./copy-folder.ts";

type Call = { home: string; settings: HubSettings; nowMs: number };

/** Removes unfinished files, backups, samples and restores of killed programs. Why: ADR 0135. */
export async function clearLeftovers(call: Call & { logger: Logger }): Promise<{ wasSampleKilled: boolean }> {
  const { nowMs, logger } = call;
  const removed = await removeLeftovers(foldersOf(call), { nowMs, uid: process.getuid?.(), logger });
  return { wasSampleKilled: removed.some((path) => basename(path).startsWith(takeOverPrefix)) };
}

/** What the next start of a hub in this home would remove. */
export async function findLeftovers(call: Call): Promise<string[]> {
  return findIn(foldersOf(call), { nowMs: call.nowMs, uid: process.getuid?.() });
}

function foldersOf({ home, settings }: Call): Parameters<typeof removeLeftovers>[0] {
  const { database, keysDir } = placesOf(home, settings);
  const restores = restorePrefix(home);
  return [
    { dir: home, prefixes: [backupPrefix], isLeftover: (name) => isTemporaryFile(name) || isCopy(name) },
    { dir: keysDir, isLeftover: isTemporaryFile },
    { dir: join(home, "certs"), isDeep: true, isLeftover: isTemporaryFile },
    { dir: join(home, "audit"), isLeftover: isTemporaryFile },
    ...(database.kind === "file"
      ? [{ dir: dirname(realPathOf(database.path)), prefixes: [takeOverPrefix], isLeftover: isSample }]
      : []),
    {
      dir: dirname(home),
      prefixes: [restores],
      isLeftover: (name) => name.startsWith(restores) && /^[0-9a-f]{12}$/.test(name.slice(restores.length)),
    },
  ];
}

function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

// As version 0.1 and the ones after it named a copy of the database, and SQLite its further files.
function isCopy(name: string): boolean {
  return /^\.backup-[0-9a-f]{12}\.sqlite(-journal|-wal|-shm)?$/.test(name);
}

function isSample(name: string): boolean {
  return /^\.take-over-[0-9a-f]{12}\.sqlite(-journal|-wal|-shm)?$/.test(name);
}
