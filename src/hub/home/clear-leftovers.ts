import { basename, dirname, join } from "node:path";
import { isTemporaryFile } from "../../runtime/files/private-file.ts";
import { removeLeftovers } from "../../runtime/files/remove-leftovers.ts";
import type { HubDeps } from "../deps.ts";
import { placesOf } from "../settings/settings.ts";

/** Removes unfinished files, backups and restores of a killed program. */
export async function clearLeftovers({ home, settings, clock, logger }: HubDeps): Promise<void> {
  const draft = `.${basename(home)}.restore-`;
  const places = [
    { dir: home, isLeftover: (name: string) => isTemporaryFile(name) || isBackupCopy(name) },
    { dir: placesOf(home, settings).keysDir, isLeftover: isTemporaryFile },
    { dir: join(home, "certs"), isDeep: true, isLeftover: isTemporaryFile },
    { dir: join(home, "audit"), isLeftover: isTemporaryFile },
    {
      dir: dirname(home),
      isLeftover: (name: string) => name.startsWith(draft) && /^[0-9a-f]{12}$/.test(name.slice(draft.length)),
    },
  ];
  await removeLeftovers(places, { nowMs: clock.nowMs(), uid: process.getuid?.(), logger });
}

/** Named as backup/back-up.ts names the copy of the database, and SQLite its further files. */
function isBackupCopy(name: string): boolean {
  return /^\.backup-[0-9a-f]{12}\.sqlite(-journal|-wal|-shm)?$/.test(name);
}
