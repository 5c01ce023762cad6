import { mkdir, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "../../core/errors.ts";

/** How many logs of earlier processes are kept, as `<file>.1` (newest) to `<file>.5`. */
const keptMax = 5;
const tailBytes = 8 * 1024;
const messageCharsMax = 300;

/** The two files into which a worker process writes its own log. */
export type WorkerLogs = { out: string; err: string };

export function workerLogs(
  logDir: string,
  { tenantId, port }: { tenantId: string; port: number },
): WorkerLogs {
  return { out: `${logDir}/${tenantId}-${port}.out.log`, err: `${logDir}/${tenantId}-${port}.err.log` };
}

/** Makes room for the logs of a new process. */
export async function rotateLogs({ out, err }: WorkerLogs): Promise<void> {
  await mkdir(dirname(out), { recursive: true, mode: 0o700 });
  for (const file of [out, err]) {
    for (let number = keptMax - 1; number >= 1; number--) {
      await renameIfThere(`${file}.${number}`, `${file}.${number + 1}`);
    }
    await renameIfThere(file, `${file}.1`);
  }
}

export async function logBytes({ out, err }: WorkerLogs): Promise<number> {
  const sizes = await Promise.all([out, err].map((file) => stat(file).catch(() => ({ size: 0 }))));
  return Math.max(...sizes.map(({ size }) => size));
}

/** The error that a process wrote before it ended, as most languages write theirs; undefined if there is none. */
export async function lastError({ err }: WorkerLogs): Promise<string | undefined> {
  const lines = (await readTail(err)).split("\n").map((line) => line.trim());
  const line = lines.findLast((text) => /^[\w.]*(Error|Exception)\b.*:/.test(text));
  return (line ?? lines.findLast((text) => text !== ""))?.slice(0, messageCharsMax).toWellFormed();
}

async function readTail(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return "";
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(Math.min(size, tailBytes)),
      position: Math.max(0, size - tailBytes),
    });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: unknown) => {
    if (!hasCode(error, "ENOENT")) throw error;
  });
}
