import { chmodSync, closeSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { WritError } from "../core/errors.ts";
import { writePrivateFile } from "../runtime/home.ts";

export type HubFile = {
  url: string;
  port: number;
  grpc_port: number;
  pid: number;
  version: string;
  started_at: number;
};

/** How programs find a running hub. It is written once the ports listen, and removed at a clean stop. */
export const hubFilePath = (home: string): string => join(home, "hub.json");

export async function writeHubFile(home: string, file: HubFile): Promise<void> {
  await writePrivateFile(hubFilePath(home), `${JSON.stringify(file, null, 2)}\n`);
}

export function removeHubFile(home: string): void {
  rmSync(hubFilePath(home), { force: true });
}

/**
 * One hub per home. The lock is a transaction on a small database, because the kernel gives it back when a process
 * dies in whatever way; a file with a process id would need guessing.
 */
export function lockHome(home: string): { release(): void } {
  const path = join(home, "hub.lock");
  // Before it is opened: SQLite gives the journal beside it the same mode.
  closeSync(openSync(path, "a", 0o600));
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  } catch {
    lock.close();
    throw new WritError(
      "CONFIG_INVALID",
      `a hub already runs for ${home}${runningHub(home)}; stop it, or use another --home`,
    );
  }
  chmodSync(path, 0o600);
  // A start that fails gives it back on its way out, and so does whoever had asked for the start.
  return { release: () => lock.isOpen && lock.close() };
}

function runningHub(home: string): string {
  try {
    const { url, pid } = JSON.parse(readFileSync(hubFilePath(home), "utf8")) as HubFile;
    return ` (${url}, process ${pid})`;
  } catch {
    return "";
  }
}
