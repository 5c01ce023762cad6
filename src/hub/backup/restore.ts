import { createReadStream, existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { hasCode, WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { readMacKey } from "../../signing/key-files.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import { readOwnFileForm } from "../../store/sqlite/forms/file-form.ts";
import { type DatabasePlace, databaseOf } from "../database/database-place.ts";
import { lockDatabase, openStore, planMigration } from "../database/open-database.ts";
import { makeCopyFolder, restorePrefix } from "../home/copy-folder.ts";
import { RefusedRenewals } from "../services/refused-renewals.ts";
import { type HubSettings, lookAtSettings } from "../settings/settings.ts";
import { unpackFiles } from "./archive.ts";
import { checkHome, faultsShown, sealFault } from "./check-home.ts";
import { loadCommand } from "./dump-command.ts";
import { openWith, refused } from "./passphrase-cipher.ts";
import { revive } from "./revive.ts";

type RestoreCall = {
  home: string;
  env: Record<string, string | undefined>;
  file: string;
  passphrase: string;
  osUser: string;
  clock: Clock;
  /** Restores jobs that do not match their seals as well. No worker gets such a job. */
  acceptDamaged?: boolean;
};

type Restored = {
  home: string;
  /** Records of the audit trail. */
  records: number;
  /** Documents and receipts whose seals were checked. */
  seals: number;
  /** Jobs that the hub had already refused, because they did not match their seals. They are restored unchanged. */
  refused: number;
  /** Damaged jobs that were accepted. */
  damaged: string[];
  /** The parts of the audit trail that could not be checked. */
  unchecked: string[];
  /** Whether output is in the database, which PostgreSQL's own program has restored. */
  output_in_database: boolean;
  /** Jobs that were leased when the backup was made, and are pending again. */
  recalled: number;
  /** Jobs that were leased, and have ended because their only attempt had begun or they were being cancelled. */
  ended: number;
};

/**
 * Creates a home from a backup, where there is none yet. Everything is first unpacked and checked beside it: a backup
 * that is damaged, or whose database was edited, leaves nothing behind. Why: ADR 0018.
 */
export async function restore(call: RestoreCall): Promise<Restored> {
  const { home } = call;
  if (existsSync(home) && (await readdir(home)).length > 0) {
    throw new WritError("CONFIG_INVALID", `${home} is not empty; name a new home with --home`);
  }
  await mkdir(dirname(home), { recursive: true, mode: 0o700 });
  const folder = makeCopyFolder(dirname(home), restorePrefix(home), "a restore");
  const draft = join(folder.path, "home");
  try {
    await mkdir(draft, { mode: 0o700 });
    await unpack(call, draft);
    const settings = await lookAtSettings({ home: draft, env: call.env });
    const database = databaseOf(draft, settings);
    await checkDatabase(draft, database);
    const moves = movesFor(settings);
    await refuseTaken(moves);
    const checked = await checkAndRevive(draft, settings, call);
    for (const { from, to } of moves) await move(join(draft, from), to);
    // Replaces the empty folder, if there is one.
    await rename(draft, home);
    return { home, ...checked };
  } finally {
    folder.remove();
  }
}

async function unpack({ file, passphrase }: RestoreCall, draft: string): Promise<void> {
  if (!existsSync(file)) throw new WritError("CONFIG_INVALID", `${file} does not exist`);
  await pipeline(
    createReadStream(file),
    (source) => openWith(passphrase, source),
    zlib.createZstdDecompress(),
    async (source: AsyncIterable<Uint8Array>) => {
      const written = await unpackFiles(source, draft);
      const missing = ["keys/ring.json", "keys/mac.key"].filter((path) => !written.includes(path));
      if (missing.length > 0) throw refused(`it contains no ${missing.join(" and no ")}`);
    },
  );
}

/** The file is in the backup; a database in PostgreSQL has been restored before, by PostgreSQL's own program. */
async function checkDatabase(draft: string, database: DatabasePlace): Promise<void> {
  const file = join(draft, "writ.sqlite");
  const hasFile = existsSync(file);
  if (database.kind === "file") {
    if (!hasFile)
      throw refused("its database is in PostgreSQL; restore that first, and set WRIT_DATABASE_URL");
    await schemaOf({ kind: "file", path: file });
    return;
  }
  if (hasFile)
    throw refused(
      "it contains a SQLite database, but WRIT_DATABASE_URL is set; restore it without that, then run `writ migrate`",
    );
  if ((await schemaOf(database)) === null)
    throw refused(`the database in WRIT_DATABASE_URL is empty; restore it first: ${loadCommand(database)}`);
}

/** The schema; null for an empty database. Throws if it is too old for this version. */
async function schemaOf(database: DatabasePlace): Promise<number | null> {
  try {
    return (await planMigration(database)).schema;
  } catch (error) {
    throw hasCode(error, "CONFIG_INVALID") ? refused((error as WritError).message) : error;
  }
}

type Move = { from: string; to: string };

/** The moves of database and keys to the places of the settings outside of the home. */
function movesFor({ sqlitePath, databaseUrl, keysDir }: HubSettings): Move[] {
  const wanted = [
    { from: "writ.sqlite", to: databaseUrl === null ? sqlitePath : null },
    { from: "keys", to: keysDir },
  ];
  return wanted.filter((move): move is Move => move.to !== null);
}

async function refuseTaken(moves: Move[]): Promise<void> {
  for (const { from, to } of moves) {
    const isFree = !existsSync(to) || (from === "keys" && (await readdir(to)).length === 0);
    if (isFree) continue;
    const problem =
      from === "keys"
        ? `WRIT_KEYS_DIR: ${to} has keys already, perhaps of hubs that run; name an empty folder, or leave the setting out`
        : `SQLITE_PATH: ${to} already exists; name another file, or move it away first`;
    throw new WritError("CONFIG_INVALID", problem);
  }
}

/** Moves a file or folder, perhaps to another disk. An empty folder may exist there already. */
async function move(from: string, to: string): Promise<void> {
  const isFolder = (await stat(from)).isDirectory();
  if (isFolder) await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of isFolder ? await readdir(from) : [""])
    await cp(join(from, name), join(to, name), { recursive: true, errorOnExist: true, force: false });
  await rm(from, { recursive: true });
}

async function checkAndRevive(
  draft: string,
  settings: HubSettings,
  { clock, osUser, acceptDamaged = false }: RestoreCall,
): Promise<Omit<Restored, "home">> {
  const keysDir = join(draft, "keys");
  const database: DatabasePlace =
    settings.databaseUrl === null
      ? { kind: "file", path: join(draft, "writ.sqlite") }
      : { kind: "postgres", url: settings.databaseUrl };
  // The signing keys are checked when the hub starts, which is also when a key from the environment is used.
  const macKey = readMacKey(keysDir);
  if (database.kind === "file") await putIntoFrames(draft, database.path, { keysDir, macKey });
  // Opened first, because that migrates an older schema. No other process knows the file yet.
  const lock = database.kind === "file" ? null : await lockDatabase(database, draft);
  const store = await openStore(database, { macKey }).catch(async (error: unknown) => {
    await lock?.release();
    throw error;
  });
  try {
    const readKeys = () => readVerifyingKeys(keysDir);
    const source = { home: draft, database, readKeys };
    const { auditFaults, damaged, ...found } = await checkHome(source, macKey);
    const sealFaults = acceptDamaged ? [] : damaged.map(sealFault);
    if (auditFaults.length + sealFaults.length > 0) throw tampered([...auditFaults, ...sealFaults]);
    const origin = { userId: osUser, ipAddress: null, userAgent: null, endpoint: null, method: null };
    const revival = { event: "HUB_RESTORED", origin, details: {} } as const;
    const { recalled, ended } = await revive(
      { store, settings, clock, keys: { macKey }, renewals: new RefusedRenewals() },
      revival,
    );
    return {
      ...found,
      damaged,
      recalled: recalled - ended,
      ended,
      output_in_database: database.kind === "postgres",
    };
  } finally {
    await store.close();
    await lock?.release();
  }
}

/** A backup of version 0.1 has a file of rows. Its damage is still there afterwards, and is found like that of any other. */
async function putIntoFrames(
  draft: string,
  path: string,
  { keysDir, macKey }: { keysDir: string; macKey: Buffer },
): Promise<void> {
  if (readOwnFileForm(path) !== "rows") return;
  const { takeOver } = await import("../migrate/take-over.ts");
  await takeOver({ home: draft, path, keysDir, macKey, onProgress() {}, onBegin() {} });
}

function tampered(faults: string[]): WritError {
  const list = faults.slice(0, faultsShown).map((fault) => `\n  ${fault}`);
  return new WritError(
    "INVALID_DOCUMENT",
    "the backup is refused: its database is damaged or was tampered with; --accept-damaged restores damaged jobs as well",
    { list: list.join("") },
  );
}
