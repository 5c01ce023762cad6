import { readlink, realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { cwd as currentDirectory } from "node:process";
import { codeOf, hasCode, WritError } from "../core/errors.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { makeDirectoryBeneath } from "../runtime/files/create-beneath.ts";
import { makeDir } from "../runtime/files/make-dir.ts";
import { openBase, openBeneath, pathOf } from "../runtime/files/open-beneath.ts";
import { PathRefused } from "../runtime/files/path-refused.ts";

/** Where a registry is, and what it may use. Every field has a default. */
export type RegistryPlace = {
  /** The directory of the registry. By default `.writ/jobs` in `cwd`. */
  registryDir?: string | undefined;
  /** The directory of the history. By default WRIT_JOB_LOGS_DIR, or `.writ/job_logs` in `cwd`. */
  logsDir?: string | undefined;
  /** By default the current directory of the process. */
  cwd?: string | undefined;
  /** The environment, for MQTT_* and the variables that hold passwords. By default it is empty. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  clock?: Clock | undefined;
  /** Called when the history cannot be written, which stops nothing. */
  onHistoryError?: ((error: unknown) => void) | undefined;
};

/** The directory of the registry, or null if there is none and it is not to be made. */
export function findRegistryDir(place: RegistryPlace, make: boolean): Promise<string | null> {
  return findDirectory(place, { given: place.registryDir, name: "jobs", make });
}

/** The same for the directory of the history. */
export function findLogsDir(place: RegistryPlace, make: boolean): Promise<string | null> {
  const given = place.logsDir ?? (place.env?.["WRIT_JOB_LOGS_DIR"] || undefined);
  return findDirectory(place, { given, name: "job_logs", make });
}

type DirectoryChoice = { given: string | undefined; name: string; make: boolean };

async function findDirectory(
  place: RegistryPlace,
  { given, name, make }: DirectoryChoice,
): Promise<string | null> {
  const cwd = place.cwd ?? currentDirectory();
  try {
    return given === undefined ? await ownDirectory(cwd, name, make) : await givenDirectory(cwd, given, make);
  } catch (error) {
    const path = given ?? `.writ/${name}`;
    const why = error instanceof PathRefused ? error.message : `${path} cannot be used (${codeOf(error)})`;
    throw new WritError("CONFIG_INVALID", `the directory of the registry: ${why}`, {
      advice: "name another one with --registry-dir, or WRIT_JOB_LOGS_DIR for the history",
    });
  }
}

/** The user has named it, and may go through links. */
async function givenDirectory(cwd: string, given: string, make: boolean): Promise<string | null> {
  const path = resolve(cwd, given);
  if (make) makeDir(path);
  try {
    return await realpath(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** The caller did not name it, so a repository that holds `.writ` as a link elsewhere must not lead us there. */
async function ownDirectory(cwd: string, name: string, make: boolean): Promise<string | null> {
  const base = await openBase(cwd);
  try {
    const dir = make
      ? await makeDirectoryBeneath(base, [".writ", name], { mode: 0o700 })
      : await openBeneath(base, `.writ/${name}`, "directory");
    return await readlink(pathOf(dir)).finally(() => dir.close());
  } catch (error) {
    if (error instanceof PathRefused && error.refusal === "missing") return null;
    throw error;
  } finally {
    await base.close();
  }
}
