import { isDeepStrictEqual } from "node:util";
import { WritError } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { readMacKey } from "../../signing/key-files.ts";
import { checkValueOf } from "../../signing/mac.ts";
import { readVerifyingKeys } from "../../signing/ring-file.ts";
import {
  type CopiedIdentity,
  type DatabaseCopy,
  howToName,
  isEmpty,
} from "../../store/database/database-copy.ts";
import { readMarks } from "../audit/audit-marks.ts";
import { checkHome, faultsShown, type HomeFindings, sealFault } from "../backup/check-home.ts";
import { lockHome } from "../home/home-lock.ts";
import { type HubSettings, lookAtSettings, placesOf } from "../settings/settings.ts";
import { copyOutputs } from "./copy-outputs.ts";
import { compareRows, copyRows, countRows, type OnProgress } from "./copy-parts.ts";
import {
  findSide,
  type GivenSide,
  hubsSide,
  named,
  openSide,
  otherSide,
  refused,
  type Side,
} from "./side.ts";

type MigrateCall = {
  home: string;
  cwd: string;
  env: Record<string, string | undefined>;
  from: GivenSide;
  to: GivenSide;
  /** Copies jobs that do not match their seals, and a broken audit trail, as they are. */
  acceptDamaged: boolean;
  clock: Clock;
  onProgress: OnProgress;
};

export type Migrated = {
  from: string;
  to: string;
  rows: number;
  /** Records of the audit trail that were checked in the target. */
  records: number;
  /** Documents and receipts whose seals were checked there. */
  seals: number;
  damaged: string[];
  /** The parts of the audit trail that could not be checked in this home. */
  unchecked: string[];
  /** The step that makes the hub use the new database. */
  next: string;
};

/**
 * Copies the database of a home into another one and verifies it there. The source is frozen by a mark before the first
 * row is read, and stays frozen: no hub may use it again. An interrupted migration continues at the next call, because
 * each page of rows is written together with the note of its end. Why: ADR 0086.
 */
export async function migrate(call: MigrateCall): Promise<Migrated> {
  const { home } = call;
  const { settings, from, to } = await sidesOf(call);
  const { keysDir } = placesOf(home, settings);
  const macKey = readMacKey(keysDir);
  if (to.place.kind === "file") await checkHeads(home);
  const lock = lockHome(home);
  try {
    return await withSides(home, macKey, { from, to }, async (source, target) => {
      const { identity, isBegun } = await checkSource(source, macKey, { from, to });
      await checkTarget(target, to, { identity, isBegun });
      const startedAt = call.clock.nowMs();
      const mark = { databaseId: identity.id, startedAt, endedAt: null };
      if ((await target.getIdentity()) === null) {
        await source.setMove({ ...mark, role: "source", other: to.shown });
        await target.setMove({ ...mark, role: "target", other: from.shown });
        // Outputs are beside the file, and stay there.
        const isSamePlace = from.place.kind === to.place.kind;
        await fill({ source, target, macKey }, call.onProgress, async (report) => {
          if (!isSamePlace) await copyOutputs({ home, settings, from, to }, report);
        });
      }
      const found = await verify({ home, keysDir, macKey }, { from, to }, call.acceptDamaged);
      if ((await target.getIdentity()) === null) await target.finish(identity);
      await source.setMove({ ...mark, role: "source", other: to.shown, endedAt: call.clock.nowMs() });
      return summary({ from, to }, found, await countRows(target));
    });
  } finally {
    lock.release();
  }
}

/** Lets hubs use a database again whose move was begun and is given up. The target stays as it is. */
export async function abandonMigration(
  call: Omit<MigrateCall, "acceptDamaged" | "onProgress" | "clock">,
): Promise<{ from: string; to: string }> {
  const { home } = call;
  const settings = await lookAtSettings(call);
  const from = sideToFree({ ...call, settings });
  const macKey = readMacKey(placesOf(home, settings).keysDir);
  const lock = lockHome(home);
  try {
    const side = await openSide(from, { home, macKey, isTarget: false });
    try {
      const move = await side.copy.getMove();
      if (move?.role !== "source") throw refused(`${from.shown} was not moved and is not being moved`);
      await side.copy.setMove(null);
      return { from: from.shown, to: move.other };
    } finally {
      await side.close();
    }
  } finally {
    lock.release();
  }
}

/** The named side, the opposite of the named target, or the side that the hub of this home would use. */
function sideToFree(
  around: Pick<MigrateCall, "home" | "cwd" | "env" | "from" | "to"> & { settings: HubSettings },
): Side {
  const to = findSide(around.to, around);
  return (
    findSide(around.from, around) ??
    (to === null ? hubsSide("--from", around) : otherSide(to, "--from", around))
  );
}

async function sidesOf(call: Pick<MigrateCall, "home" | "cwd" | "env" | "from" | "to">) {
  const settings = await lookAtSettings(call);
  const around = { ...call, settings };
  const givenFrom = findSide(call.from, around);
  const givenTo = findSide(call.to, around);
  const known = givenTo ?? givenFrom;
  if (known === null)
    throw refused("--to: say where the database goes: postgres: for WRIT_DATABASE_URL, or sqlite:FILE");
  const from = givenFrom ?? otherSide(known, "--from", around);
  const to = givenTo ?? otherSide(known, "--to", around);
  if (from.place.kind === to.place.kind)
    throw refused("--from and --to: one of them must be SQLite and the other one PostgreSQL");
  return { settings, from, to };
}

type Places = { from: Side; to: Side };

/** A file has one hub, whose home has the signed heads; of the hubs of a server, only those that have led have them. */
async function checkHeads(home: string): Promise<void> {
  if ((await readMarks(home)).marks.length > 0) return;
  throw refused(
    `--to: ${home} has no signed heads of the audit trail, because its hub has never led; run this in the home of a hub that has led, or copy audit-heads.ndjson and audit/ from there`,
  );
}

async function withSides<T>(
  home: string,
  macKey: Buffer,
  { from, to }: Places,
  act: (source: DatabaseCopy, target: DatabaseCopy) => Promise<T>,
): Promise<T> {
  const source = await openSide(from, { home, macKey, isTarget: false });
  try {
    const target = await openSide(to, { home, macKey, isTarget: true });
    try {
      return await act(source.copy, target.copy);
    } catch (error) {
      throw named(error, to);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

type Checked = {
  identity: CopiedIdentity;
  /** An earlier call has begun this migration, and not finished it. */
  isBegun: boolean;
};

async function checkSource(source: DatabaseCopy, macKey: Buffer, { from, to }: Places): Promise<Checked> {
  const identity = await source.getIdentity();
  const move = await source.getMove();
  if (move?.role === "target")
    throw refused(`--from: ${from.shown} is only half filled by a migration from ${move.other}`);
  if (move !== null && move.endedAt !== null)
    throw refused(
      `--from: ${from.shown} was moved to ${move.other} before; start the hub there, or go back with \`writ migrate --abandon\`, without what has happened since`,
    );
  if (identity === null) throw refused(`--from: no hub has used ${from.shown} yet; there is nothing to move`);
  if (identity.keyCheck !== checkValueOf(macKey, identity.id))
    throw new WritError(
      "KEY_REJECTED",
      `--from: ${from.shown} belongs to a hub with other keys; name its home with --home, or its keys with WRIT_KEYS_DIR`,
    );
  if (move !== null && move.other !== to.shown)
    throw refused(
      `--to: ${from.shown} is being moved to ${move.other}; name that one, or give that up with \`writ migrate --abandon\``,
    );
  return { identity, isBegun: move !== null };
}

/** Checks that the target is empty, or was filled by an earlier call of the same migration. */
async function checkTarget(target: DatabaseCopy, to: Side, { identity, isBegun }: Checked): Promise<void> {
  const move = await target.getMove();
  if (move?.role === "target" && move.databaseId === identity.id) return;
  if (move !== null) {
    const advice = to.place.kind === "file" ? "move the file away" : "drop its schema `writ`";
    throw refused(
      `--to: ${to.shown} belongs to another migration, with ${move.other}; if that is not needed any more, ${advice} first`,
    );
  }
  // Only the last mark in the source was missing.
  if (isBegun && (await target.getIdentity())?.id === identity.id) return;
  if (!(await isEmpty(target)))
    throw refused(`--to: ${to.shown} is not empty; name an empty database, or a file that does not exist`);
}

async function fill(
  { source, target, macKey }: { source: DatabaseCopy; target: DatabaseCopy; macKey: Buffer },
  onProgress: OnProgress,
  fillOutputs: (onProgress: OnProgress) => Promise<void>,
): Promise<void> {
  const numbers = await source.getNumbers();
  const total = await countRows(source);
  await target.prepare(numbers);
  await copyRows({ source, target }, total, onProgress);
  await target.writeNumbers(numbers);
  await fillOutputs(onProgress);
  await compareRows({ source, target }, macKey, { total, onProgress });
}

/** Checks seals and audit trail in the target. A fault there is accepted only if the source has it too. */
async function verify(
  { home, keysDir, macKey }: { home: string; keysDir: string; macKey: Buffer },
  { from, to }: Places,
  acceptDamaged: boolean,
): Promise<HomeFindings> {
  const readKeys = () => readVerifyingKeys(keysDir);
  const found = await checkHome({ home, database: to.place, readKeys }, macKey);
  const faults = [...found.auditFaults, ...found.damaged.map(sealFault)];
  if (faults.length === 0) return found;
  const before = await checkHome({ home, database: from.place, readKeys }, macKey);
  const isOfSource = isDeepStrictEqual({ ...before, unchecked: [] }, { ...found, unchecked: [] });
  if (isOfSource && acceptDamaged) return found;
  const what = isOfSource
    ? `${from.shown} is damaged or was tampered with; --accept-damaged moves it as it is`
    : `the copy in ${to.shown} is damaged; empty it and begin again`;
  throw new WritError("INVALID_DOCUMENT", what, {
    list: faults
      .slice(0, faultsShown)
      .map((fault) => `\n  ${fault}`)
      .join(""),
  });
}

function summary(
  { from, to }: Places,
  { records, seals, damaged, unchecked }: HomeFindings,
  rows: number,
): Migrated {
  return {
    from: from.shown,
    to: to.shown,
    rows,
    records,
    seals,
    damaged,
    unchecked,
    next: howToName(to.shown),
  };
}
