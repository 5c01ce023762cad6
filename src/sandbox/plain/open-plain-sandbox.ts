import { chmod, lchown, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { cageIds } from "../launch-plan.ts";
import type { Sandbox } from "../sandbox.ts";
import { makeHome } from "./make-home.ts";
import { plainIsolation, plainSandbox, startPlain } from "./plain-sandbox.ts";

/**
 * Processes without a cage. A worker that runs as root starts even these as nobody, without any groups: whoever asks for
 * no isolation does not thereby hand the machine to every job.
 */
export async function openPlainSandbox({ workDir, uid }: { workDir: string; uid: number }): Promise<Sandbox> {
  if (uid !== 0) return plainSandbox;
  await checkWay(workDir);
  return {
    ...plainSandbox,
    probe: async (asked) => {
      await plainSandbox.probe(asked);
      return plainIsolation(["user"]);
    },
    async start(plan) {
      await plainSandbox.probe(plan);
      if (plan.home !== undefined) makeHome(plan.home);
      await openWay(workDir, plan.workDir);
      await give(plan.workDir);
      return startPlain({ ...plan, home: undefined }, plainIsolation(["user"]), cageIds);
    },
  };
}

/** A job is told absolute paths of its files, so it must be able to get there. */
async function checkWay(workDir: string): Promise<void> {
  for (let dir = dirname(workDir); ; dir = dirname(dir)) {
    const { mode } = await stat(dir);
    if ((mode & 0o001) === 0)
      throw new WritError(
        "CONFIG_INVALID",
        `isolation: none in a worker that runs as root starts jobs as user ${cageIds.uid}, who cannot enter ${dir} ` +
          `(mode 0${(mode & 0o777).toString(8)}); set WRIT_WORK_DIR to a directory that everybody can reach, such as ` +
          "/var/lib/writ-work, or remove isolation: none",
      );
    if (dir === "/") return;
  }
}

/** From the work dir down to what holds the job's own directory: to be entered, but not to be listed. */
async function openWay(workDir: string, jobDir: string): Promise<void> {
  for (let dir = dirname(jobDir); dir.startsWith(workDir); dir = dirname(dir)) await chmod(dir, 0o711);
}

/** The directory is fresh, and only the worker has written to it. */
async function give(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of entries) await lchown(join(parentPath, name), cageIds.uid, cageIds.gid);
  await lchown(dir, cageIds.uid, cageIds.gid);
}
