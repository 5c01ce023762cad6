import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createGunzip, gzip } from "node:zlib";
import { hasCode } from "../../core/errors.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import type { SealedRecord } from "../../store/log/audit-record.ts";

const compress = promisify(gzip);
const fileName = /^(\d{4}-\d{2}-\d{2})\.ndjson\.gz$/;

export function dayOf(ts: number): string {
  return new Date(ts).toISOString().slice(0, 10);
}

/** The days for which there is a file, oldest first. */
export async function listColdDays(auditDir: string): Promise<string[]> {
  const names = await readdir(auditDir).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  });
  return names.flatMap((name) => fileName.exec(name)?.[1] ?? []).sort();
}

/**
 * Adds records to the file of a day. The new file is written completely beside the old one and replaces it by a rename,
 * so a crash leaves the old or the new one, never half of it. Compressed pieces can simply be concatenated.
 */
export async function appendCold(auditDir: string, day: string, records: SealedRecord[]): Promise<void> {
  await mkdir(auditDir, { recursive: true, mode: 0o700 });
  const path = coldPath(auditDir, day);
  const before = await readFile(path).catch((error: unknown) => {
    // The first records of the day. Any other error must not replace the file.
    if (hasCode(error, "ENOENT")) return Buffer.alloc(0);
    throw error;
  });
  const added = await compress(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  await writePrivateFile(path, Buffer.concat([before, added]));
}

export async function removeCold(auditDir: string, day: string): Promise<void> {
  await unlink(coldPath(auditDir, day));
}

/** Whether the file was removed after it was listed. */
export function isGone(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

/** A longer line was not written by us. */
const lineBytesMax = 4 * 1024 ** 2;

/** The lines of a day, one by one, because a busy day does not fit into memory. */
export async function* readColdLines(auditDir: string, day: string): AsyncGenerator<string> {
  const source = createReadStream(coldPath(auditDir, day));
  const text = source.pipe(createGunzip()).setEncoding("utf8");
  source.once("error", (error) => text.destroy(error));
  let rest = "";
  try {
    for await (const chunk of text as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop()!;
      if (rest.length > lineBytesMax) throw new Error(`a line is longer than ${lineBytesMax} bytes`);
      yield* lines;
    }
  } finally {
    source.destroy();
  }
  if (rest !== "") yield rest;
}

export async function* readCold(auditDir: string, day: string): AsyncGenerator<SealedRecord> {
  for await (const line of readColdLines(auditDir, day)) yield JSON.parse(line) as SealedRecord;
}

export function coldPath(auditDir: string, day: string): string {
  return join(auditDir, `${day}.ndjson.gz`);
}
