import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { type FileLock, tryLockFile } from "../../runtime/files/file-lock.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";

export type HubFile = {
  /** The address for other machines. */
  url: string;
  local_url: string | undefined;
  port: number;
  grpc_port: number;
  pid: number;
  version: string;
  started_at: number;
};

/** Tells programs how to find a running hub. It is written once the ports listen, and removed at a clean stop. */
export const hubFilePath = (home: string): string => join(home, "hub.json");

export async function writeHubFile(home: string, file: HubFile): Promise<void> {
  await writePrivateFile(hubFilePath(home), `${JSON.stringify(file, null, 2)}\n`);
}

export function removeHubFile(home: string): void {
  rmSync(hubFilePath(home), { force: true });
}

/** Allows one hub per home. */
export function lockHome(home: string): FileLock {
  const lock = tryLockFile(join(home, "hub.lock"));
  if (lock !== null) return lock;
  throw new WritError(
    "CONFIG_INVALID",
    `a hub is already running in ${home}${runningHub(home)}; stop it, or use another --home`,
  );
}

function runningHub(home: string): string {
  try {
    const { url, pid } = JSON.parse(readFileSync(hubFilePath(home), "utf8")) as HubFile;
    return ` (${url}, process ${pid})`;
  } catch {
    // The file is missing or half written: the refusal then names the home only.
    return "";
  }
}
