// Acts of `writ certs`, kept until a hub has recorded them in its audit trail. Why: ADR 0012.
import { existsSync } from "node:fs";
import { mkdir, readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { WritError } from "../../core/errors.ts";
import { tryParseJson } from "../../core/text/json-value.ts";
import { tryLockFile } from "../../runtime/files/file-lock.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";
import type { CertPaths } from "./cert-paths.ts";

const shape = z.strictObject({
  act: z.enum(["issue", "revoke"]),
  serial: z.string().regex(/^[0-9A-F]{1,64}$/),
  /** The operating system's user who ran the command. */
  by: z.string(),
  at: z.int(),
});

export type CertAct = z.infer<typeof shape>;

/** The most acts of one transaction; the next check takes the rest. */
const takenMax = 500;

/** Call it under the lock, before the act: an act that cannot be recorded must not happen. */
export async function noteCertActs(paths: CertPaths, acts: readonly CertAct[]): Promise<void> {
  await mkdir(paths.unrecorded, { recursive: true, mode: 0o700 });
  for (const act of acts) {
    const name = `${act.at}-${act.act}-${act.serial}.json`;
    await writePrivateFile(join(paths.unrecorded, name), `${JSON.stringify(act)}\n`);
  }
}

/**
 * Records the acts of commands, and removes those that are recorded; a crash in between records them twice. Of several
 * hubs that share the folder, one does it at a time. The lock is not the one of the certificates, because a database
 * that does not answer must not prevent a revocation.
 */
export async function takeCertActs(
  paths: CertPaths,
  record: (acts: CertAct[]) => Promise<void>,
): Promise<void> {
  const files = await unrecordedFiles(paths);
  const lock = files.length === 0 ? null : tryLockFile(paths.unrecordedLock);
  if (lock === null) return;
  try {
    const { acts, damaged } = await readActs(files);
    if (acts.size > 0) await record([...acts.values()]);
    for (const file of acts.keys()) await unlink(file);
    if (damaged !== undefined) {
      throw new WritError("CONFIG_INVALID", `${damaged} is not a note of \`writ certs\`; remove it`);
    }
  } finally {
    lock.release();
  }
}

/** The oldest first. */
async function unrecordedFiles({ unrecorded }: CertPaths): Promise<string[]> {
  const names = existsSync(unrecorded) ? await readdir(unrecorded) : [];
  const notes = names.filter((name) => /^\d+-[a-z]+-[0-9A-F]+\.json$/.test(name)).sort();
  return notes.slice(0, takenMax).map((name) => join(unrecorded, name));
}

async function readActs(files: string[]): Promise<{ acts: Map<string, CertAct>; damaged?: string }> {
  const acts = new Map<string, CertAct>();
  const damaged: string[] = [];
  for (const file of files) {
    const text = await readPrivateFile(file);
    // Another hub has recorded it since the folder was read.
    if (text === null) continue;
    const parsed = shape.safeParse(tryParseJson(text));
    if (parsed.success) acts.set(file, parsed.data);
    else damaged.push(file);
  }
  return damaged[0] === undefined ? { acts } : { acts, damaged: damaged[0] };
}
