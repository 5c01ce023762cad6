import { chmod, lchown, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { cageIds } from "../launch-plan.ts";
import type { Sandbox } from "../sandbox.ts";
import { makeHome } from "./make-home.ts";
import { plainIsolation, plainSandbox, startPlain } from "./plain-sandbox.ts";

/**
 * Opens the sandbox for processes without a cage. A root worker starts even these as the user nobody, without any
 * groups: without isolation, jobs must still not control the machine.
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
      makeHome(plan);
      await openWay(workDir, plan.workDir);
      await give(plan.workDir);
      return startPlain({ ...plan, home: undefined }, plainIsolation(["user"]), cageIds);
    },
  };
}

/** A job receives absolute paths of its files, so it must be able to reach them. */
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

/** Makes the directories between the work dir and the job's own enterable, but not listable. */
async function openWay(workDir: string, jobDir: string): Promise<void> {
  for (let dir = dirname(jobDir); dir.startsWith(workDir); dir = dirname(dir)) await chmod(dir, 0o711);
}

/** Gives a directory to the job. It is fresh, and only the worker has written to it. */
async function give(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of entries) await lchown(join(parentPath, name), cageIds.uid, cageIds.gid);
  await lchown(dir, cageIds.uid, cageIds.gid);
}
