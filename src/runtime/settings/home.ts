import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { codeOf, WritError } from "../../core/errors.ts";
import { makeDir } from "../files/make-dir.ts";

type HomeSources = {
  flag?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Set when the program runs from a checkout. */
  checkoutDir?: string | undefined;
  userHome: string;
};

/** Where keys, database and outputs are: the flag, then WRIT_HOME, then the checkout, then the user's home. */
export function resolveHome({ flag, env, checkoutDir, userHome }: HomeSources): string {
  // Shells and compose files use an empty variable for "not set".
  const named = flag || env["WRIT_HOME"];
  if (named) return resolve(named);
  return checkoutDir ? join(resolve(checkoutDir), ".writ") : join(resolve(userHome), ".writ");
}

/** The user's own home. In a container, a user id may have neither a name nor a home; then it is the root directory. */
export function homeOfUser(env: HomeSources["env"]): string {
  if (env["HOME"]) return env["HOME"];
  try {
    return homedir();
  } catch {
    // The user id has no entry.
    return "/";
  }
}

/**
 * Creates the home with mode 0700. A home that others can access is refused and not repaired: its keys may already have
 * been read, and somebody has to know.
 */
export async function ensureHome(dir: string): Promise<void> {
  try {
    makeDir(dir);
  } catch (error) {
    throw new WritError("CONFIG_INVALID", `the home ${dir} cannot be created (${codeOf(error)})`);
  }
  const { mode } = await stat(dir);
  if ((mode & 0o077) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new WritError(
    "CONFIG_INVALID",
    `other users can access the home ${dir} (mode ${found}); run: chmod 700 ${dir}`,
  );
}

/** True for the home of a hub: its keys and the administrator's token are in there. */
export function isHubHome(dir: string): boolean {
  return [join("keys", "ring.json"), "admin.token"].some((file) => existsSync(join(dir, file)));
}
