import { mkdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { WritError } from "../core/errors.ts";

type HomeSources = {
  flag?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Given when the program runs from a checkout. */
  checkoutDir?: string | undefined;
  userHome: string;
};

/** Where keys, database and outputs live: flag, then WRIT_HOME, then the checkout's, then the user's own. */
export function resolveHome({ flag, env, checkoutDir, userHome }: HomeSources): string {
  // An empty variable is what shells and compose files leave behind for "not set".
  const named = flag || env["WRIT_HOME"];
  if (named) return resolve(named);
  return checkoutDir ? join(resolve(checkoutDir), ".writ") : join(resolve(userHome), ".writ");
}

/**
 * Makes the home with mode 0700. One that others can reach is refused and not repaired: its keys may have
 * been read already, and a person has to know.
 */
export async function ensureHome(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WritError("CONFIG_INVALID", `the home ${dir} cannot be made: ${code}`);
  }
  const { mode } = await stat(dir);
  if ((mode & 0o077) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new WritError(
    "CONFIG_INVALID",
    `the home ${dir} has mode ${found} and others can reach it; run: chmod 700 ${dir}`,
  );
}
