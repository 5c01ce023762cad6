import { spawn } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../core/errors.ts";
import { errnoName } from "./launcher/exit-report.ts";
import { builtLauncherFile } from "./launcher/launcher.ts";

/** An entry of the directory that cannot be removed. */
export type LeftEntry = { name: string; code: string };

type EmptyOptions = {
  launcherFile?: string | undefined;
  /** Ends the removal early; the remaining entries count as left. */
  signal?: AbortSignal | undefined;
};

/** Longer than the removal of any number of files that fits on a disk. */
const timeoutMs = 3_600_000;
/** Enough for 1,000 lines; the others are left without a reason. */
const reportCharsMax = 300_000;
/** The exit codes of the launcher after a complete run. */
const doneStatuses: readonly (number | null)[] = [0, 1];

/**
 * Removes everything in a directory that jobs have written: trees that are too deep for any path, millions of files,
 * names of any bytes. The launcher does it, on descriptors and in a process of its own, so that other jobs do not wait
 * for it. Returns the remaining entries, and never rejects. Why: ADR 0027.
 */
export async function emptyDirectory(dir: string, options: EmptyOptions = {}): Promise<LeftEntry[]> {
  const codes = (await runLauncher(dir, options)) ?? (await removeByPath(dir, options.signal));
  // A directory that does not exist is empty.
  const names = await readdir(dir).catch(() => []);
  return names.map((name) => ({ name, code: codes.get(name) ?? "EAGAIN" }));
}

type Codes = ReadonlyMap<string, string>;

/** Why each name could not be removed; null when there is no launcher that could try. */
function runLauncher(dir: string, { launcherFile, signal }: EmptyOptions): Promise<Codes | null> {
  return new Promise((resolve) => {
    const child = spawn(launcherFile ?? builtLauncherFile, ["remove", dir], {
      cwd: "/",
      env: {},
      stdio: ["ignore", "pipe", "ignore"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      ...(signal === undefined ? {} : { signal }),
    });
    let report = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (report.length < reportCharsMax) report += text;
    });
    // Also raised when the signal ends it; then it has a pid, and its end follows.
    child.on("error", () => {
      if (child.pid === undefined) resolve(signal?.aborted ? new Map() : null);
    });
    child.once("close", (status, killedBy) => {
      const isDone = doneStatuses.includes(status) || killedBy !== null;
      resolve(isDone ? codesIn(report) : null);
    });
  });
}

function codesIn(report: string): Codes {
  const lines = report.matchAll(/^(\d+) (.+)$/gm);
  return new Map([...lines].map(([, errno, name]) => [name!, errnoName(Number(errno))]));
}

async function removeByPath(dir: string, signal: AbortSignal | undefined): Promise<Codes> {
  const codes = new Map<string, string>();
  // A directory that does not exist is empty.
  for (const name of await readdir(dir).catch(() => [])) {
    if (signal?.aborted) break;
    await rm(join(dir, name), { recursive: true, force: true }).catch((error: unknown) => {
      codes.set(name, codeOf(error));
    });
  }
  return codes;
}
