import { createWriteStream, existsSync } from "node:fs";
import { link, open, readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream/promises";
import * as zlib from "node:zlib";
import { codeOf, hasCode, isDiskFull, WritError } from "../../core/errors.ts";
import { readMacKey } from "../../signing/key-files.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import { readFileForm } from "../../store/sqlite/forms/file-form.ts";
import { openSqliteStore } from "../../store/sqlite/open-store.ts";
import { marksPath, parseMarks } from "../audit/audit-marks.ts";
import type { DatabasePlace } from "../database/database-place.ts";
import { refuseUnused } from "../database/missing-database.ts";
import { planMigration } from "../database/open-database.ts";
import { backupPrefix, isForLackOfRoom, makeCopyFolder, noRoomFor } from "../home/copy-folder.ts";
import { lookAtSettings, placesOf } from "../settings/settings.ts";
import { type ArchivedFile, isPartOfHome, packFiles } from "./archive.ts";
import { checkHome, faultsShown, sealFault } from "./check-home.ts";
import { dumpCommand } from "./dump-command.ts";
import { sealWith } from "./passphrase-cipher.ts";

type BackupCall = {
  home: string;
  env: Record<string, string | undefined>;
  file: string;
  passphrase: string;
  version: string;
  nowMs: number;
};

type BackupMade = {
  file: string;
  bytes: number;
  files: number;
  created_at: number;
  /** Why a restore would refuse the backup; empty for a good one. */
  faults: string[];
  /** The parts of the audit trail that could not be checked in this home. */
  unchecked: string[];
  /** The command that dumps the database, if it is in PostgreSQL and so not in the file. */
  dump_command: string | null;
};

/** Deeper than any folder of a home. */
const depthMax = 4;

/**
 * Writes everything that a hub cannot be rebuilt without into one file: database, keys, certificates, audit trail and
 * settings. A hub may be running. The order keeps the copy consistent: the signed heads before the database, because a
 * head must not cover records that are not there; keys and the files of the audit trail after it, because everything
 * that the database refers to must be there, and records that it has moved out by then are in both.
 *
 * A database in PostgreSQL is not in the file: it is dumped by PostgreSQL's own program, right after this. Why: ADR
 * 0018.
 */
export async function backUp(call: BackupCall): Promise<BackupMade> {
  const { home, file, nowMs } = call;
  const { database, keysDir } = placesOf(home, await lookAtSettings(call));
  await refuseUnused(home, database);
  if (existsSync(file)) throw taken(file);
  if (!existsSync(dirname(file))) {
    const message = `file: the folder ${dirname(file)} does not exist`;
    throw new WritError("INVALID_ARGUMENT", message, { advice: "make it, or name a file in another folder" });
  }

  const headsPath = marksPath(home);
  const heads = existsSync(headsPath) ? await readFile(headsPath) : null;
  const folder = makeCopyFolder(home, backupPrefix, "a backup");
  const snapshot = join(folder.path, "writ.sqlite");
  try {
    const temporary = folder.temporaryBeside(file);
    if (database.kind === "file") {
      await copyDatabase(database.path, snapshot).catch(cannotCopy(home));
      // It throws if the schema is too old for a restore by this version.
      await planMigration({ kind: "file", path: snapshot });
    }
    const files: ArchivedFile[] = [
      ...(database.kind === "file" ? [{ path: "writ.sqlite", file: snapshot }] : []),
      ...(heads === null ? [] : [{ path: basename(headsPath), content: heads }]),
      ...(await filesOf(home, keysDir)),
    ];
    await pipeline(
      packFiles(files),
      zlib.createZstdCompress(),
      sealWith(call.passphrase, { created_at: nowMs, version: call.version }),
      createWriteStream(temporary, { flags: "wx", mode: 0o600, flush: true }),
    ).catch(cannotWrite(file, temporary));
    // A link, because a rename would replace a file that appeared there meanwhile.
    await link(temporary, file).catch((error: unknown) => {
      throw hasCode(error, "EEXIST") ? taken(file) : error;
    });
    const copy: DatabasePlace = database.kind === "file" ? { kind: "file", path: snapshot } : database;
    const found = await findingsOf(home, { copy, keysDir, heads });
    const dump_command = database.kind === "file" ? null : dumpCommand(database);
    const bytes = (await stat(file)).size;
    return { file, bytes, files: files.length, created_at: nowMs, ...found, dump_command };
  } finally {
    folder.remove();
  }
}

/**
 * Checks the copy, or the database itself if it is in PostgreSQL, as a restore will. The backup is kept in any case,
 * because it may be the only copy left.
 */
async function findingsOf(
  home: string,
  { copy, keysDir, heads }: { copy: DatabasePlace; keysDir: string; heads: Buffer | null },
): Promise<Pick<BackupMade, "faults" | "unchecked">> {
  const { marks: kept } = parseMarks(heads?.toString("utf8") ?? "");
  const readKeys = () => readVerifyingKeys(keysDir);
  const macKey = readMacKey(keysDir);
  // Opened first, because that migrates an older schema; the file was packed as it was. One of version 0.1 is checked as it is.
  if (copy.kind === "file" && readFileForm(copy.path) === "frames")
    await (await openSqliteStore({ path: copy.path, macKey })).close();
  const found = await checkHome({ home, database: copy, kept, readKeys }, macKey);
  const faults = [...found.auditFaults, ...found.damaged.map(sealFault)].slice(0, faultsShown);
  return { faults, unchecked: found.unchecked };
}

/** The copy of the database that goes into the file is made in the home first. */
function cannotCopy(home: string): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(await isForLackOfRoom(error, home))) throw error;
    throw noRoomFor(home, "a backup");
  };
}

/** Names the requested file, and not the temporary one. */
function cannotWrite(file: string, temporary: string): (error: unknown) => never {
  return (error) => {
    if (isDiskFull(error)) {
      const message = `the disk of ${dirname(file)} is full: ${basename(file)} was not written`;
      const advice = "make room, or name a file on another disk";
      throw new WritError("STORE_UNAVAILABLE", message, { advice });
    }
    if (!(error instanceof Error && "path" in error && error.path === temporary)) throw error;
    throw new WritError(
      "CONFIG_INVALID",
      `${file} cannot be written (${codeOf(error)}); name a file elsewhere`,
    );
  };
}

/** A copy as of one moment, without deleted data, while others continue to write. */
async function copyDatabase(from: string, to: string): Promise<void> {
  // Created first, so that the copy is private from its first byte.
  await (await open(to, "wx", 0o600)).close();
  const database = new DatabaseSync(from, { readOnly: true, timeout: 30_000 });
  try {
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

async function filesOf(home: string, keysDir: string): Promise<ArchivedFile[]> {
  const found: ArchivedFile[] = [];
  for (const path of ["admin.token", "writ.yaml", "jobctl.yaml"]) {
    if (existsSync(join(home, path))) found.push({ path, file: join(home, path) });
  }
  await collect(keysDir, "keys", found);
  await collect(join(home, "certs"), "certs", found);
  await collect(join(home, "audit"), "audit", found);
  // The identity of the local worker and its ledger, without the files of running jobs.
  await collect(join(home, "worker"), "worker", found, ["logs", "work"]);
  return found;
}

/** All files of a folder except those of a running process: locks and process ids. */
async function collect(
  dir: string,
  place: string,
  found: ArchivedFile[],
  left: readonly string[] = [],
): Promise<void> {
  if (place.split("/").length > depthMax || !existsSync(dir)) return;
  for (const name of (await readdir(dir)).sort()) {
    const file = join(dir, name);
    const path = `${place}/${name}`;
    if (left.includes(name) || /\.(lock|pid)$/.test(name) || !isPartOfHome(path)) continue;
    const status = await stat(file);
    if (status.isDirectory()) await collect(file, path, found);
    else if (status.isFile()) found.push({ path, file });
  }
}

function taken(file: string): WritError {
  return new WritError("CONFIG_INVALID", `${file} already exists; name another file`);
}
