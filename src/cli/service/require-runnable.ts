import { spawnSync } from "node:child_process";
import { lstatSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { WritError } from "../../core/errors.ts";
import type { ServicePlan } from "./unit.ts";

const tryMs = 20_000;
/** The ids of the account `nobody`, for when that of the hub does not exist yet: both can read what everybody can. */
const unprivileged = { uid: 65_534, gid: 65_534 };
const account = "writ";

/**
 * A hub alone runs as an account of its own. It is tried before anything is written whether that account can start the program
 * from where it is installed: otherwise systemd would start it again and again.
 */
export function requireRunnable(plan: ServicePlan): void {
  const why = whyAccountCannotStart(plan);
  if (why === null) return;
  throw new WritError("CONFIG_INVALID", `${why}; nothing was changed, so ${whereToInstall}`);
}

/** What to do about it, as the end of a sentence. */
export const whereToInstall =
  "install package and Node where everybody can read them, such as /opt/writ, or use --user";

/** Why the unit of this plan could not start the program, or null. Nothing is changed to find out. */
export function whyAccountCannotStart({ role, isOfUser, program }: ServicePlan): string | null {
  if (role !== "hub" || isOfUser) return null;
  const why = hiddenByUnit(program) ?? whyRefused(program);
  if (why === null) return null;
  return `the account ${account}, as which the hub would run, cannot start ${program.join(" ")}: ${why}`;
}

/** Only root can try it as somebody else; anybody can look for a closed folder. */
function whyRefused(program: readonly string[]): string | null {
  if (process.getuid?.() === 0) return whyNotRunnable(program, accountIds() ?? unprivileged);
  return closedOnTheWay(program);
}

/** Why somebody with these ids cannot start the program, or null. */
export function whyNotRunnable(
  [node = "", ...words]: readonly string[],
  ids: { uid: number; gid: number },
): string | null {
  const options = { ...ids, cwd: "/", env: {}, encoding: "utf8", timeout: tryMs } as const;
  const { status, error, stderr } = spawnSync(node, [...words, "--version"], options);
  if (status === 0) return null;
  return (
    closedOnTheWay([node, ...words]) ??
    error?.message ??
    (stderr.split("\n").find((line) => /error|cannot/i.test(line)) || `it ended with ${status}`)
  );
}

function closedOnTheWay(program: readonly string[]): string | null {
  const closed = program.map(closedFolder).find((folder) => folder !== undefined);
  return closed === undefined ? null : `others may not enter ${closed}`;
}

/** The unit has temporary folders of its own. */
function hiddenByUnit(program: readonly string[]): string | null {
  const hidden = program.find((path) => /^\/(?:var\/)?tmp\//.test(path));
  return hidden === undefined ? null : "its unit does not see the machine's /tmp";
}

/** The first folder on the way to a file that others may not enter. */
function closedFolder(path: string): string | undefined {
  try {
    const folders: string[] = [];
    for (let at = dirname(realpathSync(path)); ; at = dirname(at)) {
      folders.unshift(at);
      if (at === dirname(at)) break;
    }
    return folders.find((folder) => (lstatSync(folder).mode & 0o001) === 0);
  } catch {
    // A path that cannot be followed to its end has no folder to name.
    return undefined;
  }
}

function accountIds(): { uid: number; gid: number } | undefined {
  const idOf = (flag: string) =>
    Number(spawnSync("id", [flag, account], { encoding: "utf8" }).stdout || "NaN");
  const [uid, gid] = [idOf("-u"), idOf("-g")];
  return Number.isInteger(uid) && Number.isInteger(gid) ? { uid, gid } : undefined;
}
