import { randomBytes } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { openKeyRing } from "../../signing/key-ring.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import { openSqliteStore } from "../../store/sqlite/open-store.ts";
import { type HubSettings, lookAtSettings } from "../settings.ts";
import { unpackFiles } from "./archive.ts";
import { checkHome, faultsShown, sealFault } from "./check-home.ts";
import { openWith, refused } from "./passphrase-cipher.ts";
import { revive } from "./revive.ts";

type RestoreCall = {
  home: string;
  env: Record<string, string | undefined>;
  file: string;
  passphrase: string;
  osUser: string;
  clock: Clock;
  /** Restores jobs that do not match their seals as well. Nobody is given such a job. */
  acceptDamaged?: boolean;
};

type Restored = {
  home: string;
  /** Records of the audit trail. */
  records: number;
  /** Documents and receipts whose seals were checked. */
  seals: number;
  /** Jobs that the hub had already refused, because they did not match their seals. They are restored as they were. */
  refused: number;
  /** Damaged jobs that were accepted. */
  damaged: string[];
  /** Jobs that were leased when the backup was made, and are pending again. */
  recalled: number;
};

/**
 * Creates a home from a backup, where there is none yet. Everything is first unpacked and checked beside it: a backup
 * that is damaged, or whose database somebody has edited, leaves nothing behind.
 */
export async function restore(call: RestoreCall): Promise<Restored> {
  const { home } = call;
  if (existsSync(home) && (await readdir(home)).length > 0) {
    throw new WritError("CONFIG_INVALID", `${home} is not empty; name a new home with --home`);
  }
  const draft = join(dirname(home), `.${basename(home)}.restore-${randomBytes(6).toString("hex")}`);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  try {
    await unpack(call, draft);
    const settings = await lookAtSettings({ home: draft, env: call.env });
    const moves = movesFor(settings);
    await refuseTaken(moves);
    const checked = await checkAndRevive(draft, settings, call);
    for (const { from, to } of moves) await move(join(draft, from), to);
    // Replaces the empty folder, if there is one.
    await rename(draft, home);
    return { home, ...checked };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function unpack({ file, passphrase }: RestoreCall, draft: string): Promise<void> {
  if (!existsSync(file)) throw new WritError("CONFIG_INVALID", `${file} does not exist`);
  await pipeline(
    createReadStream(file),
    (source) => openWith(passphrase, source),
    createZstdDecompress(),
    async (source: AsyncIterable<Uint8Array>) => {
      const written = await unpackFiles(source, draft);
      const missing = ["writ.sqlite", "keys/ring.json", "keys/mac.key"].filter(
        (path) => !written.includes(path),
      );
      if (missing.length > 0) throw refused(`it contains no ${missing.join(" and no ")}`);
    },
  );
}

type Move = { from: string; to: string };

/** Database and keys go where the settings say, if that is not in the home. */
function movesFor({ sqlitePath, keysDir }: HubSettings): Move[] {
  const wanted = [
    { from: "writ.sqlite", to: sqlitePath },
    { from: "keys", to: keysDir },
  ];
  return wanted.filter((move): move is Move => move.to !== null);
}

async function refuseTaken(moves: Move[]): Promise<void> {
  for (const { from, to } of moves) {
    const isFree = !existsSync(to) || (from === "keys" && (await readdir(to)).length === 0);
    if (!isFree)
      throw new WritError(
        "CONFIG_INVALID",
        `the settings name ${to}, which already exists; move it away first`,
      );
  }
}

/** They may be on another disk. */
async function move(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, errorOnExist: true, force: false });
  await rm(from, { recursive: true });
}

async function checkAndRevive(
  draft: string,
  settings: HubSettings,
  { clock, osUser, acceptDamaged = false }: RestoreCall,
): Promise<Omit<Restored, "home">> {
  const keysDir = join(draft, "keys");
  const path = join(draft, "writ.sqlite");
  const givenPrivateKeyPem = settings.signingKeyPem ?? undefined;
  const { macKey } = openKeyRing(keysDir, { nowMs: clock.nowMs(), givenPrivateKeyPem });
  // Opened first, because that migrates an older schema.
  const store = await openSqliteStore({ path, macKey });
  try {
    const readKeys = () => readVerifyingKeys(keysDir);
    const source = { home: draft, databasePath: path, readKeys };
    const { records, seals, refused, auditFaults, damaged } = await checkHome(source, macKey);
    const sealFaults = acceptDamaged ? [] : damaged.map(sealFault);
    if (auditFaults.length + sealFaults.length > 0) throw tampered([...auditFaults, ...sealFaults]);
    const origin = { userId: osUser, ipAddress: null, userAgent: null, endpoint: null, method: null };
    const revival = { event: "HUB_RESTORED", origin, details: {} } as const;
    const recalled = await revive({ store, settings, clock }, revival);
    return { records, seals, refused, damaged, recalled };
  } finally {
    await store.close();
  }
}

function tampered(faults: string[]): WritError {
  const list = faults.slice(0, faultsShown).map((fault) => `\n  ${fault}`);
  return new WritError(
    "INVALID_DOCUMENT",
    "the backup is refused: its database is damaged or was tampered with; --accept-damaged restores damaged jobs as well",
    { list: list.join("") },
  );
}
