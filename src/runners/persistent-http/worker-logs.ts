import { mkdir, open, rename, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { hasCode } from "../../core/errors.ts";

/** How many logs of earlier processes are kept, as `<file>.1` (newest) to `<file>.5`. */
const keptMax = 5;
const tailBytes = 8 * 1024;
const messageCharsMax = 300;
const linesMax = 3;
/**
 * Many servers log each request, as `127.0.0.1 - - [date] "GET /job/1 HTTP/1.1" 200 -`, and Python's also
 * `127.0.0.1 - - [date] code 404, message File not found`: they tell of nothing else.
 */
const accessLine = /"(GET|POST|DELETE) \S+ HTTP\/[\d.]+" \d{3}| - - \[[^\]]+\] code \d{3}, message /;

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

/** What a process wrote last, as a piece of a sentence that tells of its end or of a fault; empty if it wrote nothing. */
export async function lastWords({ out, err }: WorkerLogs): Promise<string> {
  const [errors, lines] = [await lastLines(err), await lastLines(out)];
  const error = errors.findLast((line) => /^[\w.]*(Error|Exception)\b.*:/.test(line));
  if (error !== undefined) return `: ${error.slice(0, messageCharsMax).toWellFormed()}`;
  const [file, words] = errors.length > 0 ? [err, errors] : [out, lines];
  if (words.length === 0) return "";
  const text = words.slice(-linesMax).join(" | ");
  return `; its log ${basename(file)} ends with: ${text.slice(-messageCharsMax).toWellFormed()}`;
}

async function lastLines(file: string): Promise<string[]> {
  const lines = (await readTail(file)).split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !accessLine.test(line));
}

async function readTail(path: string): Promise<string> {
  // A process that wrote nothing has no log.
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
