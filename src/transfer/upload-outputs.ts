import type { FileHandle } from "node:fs/promises";
import type { OutputFile } from "../core/jobs/output-file.ts";
import { objectKeyProblem } from "../core/storage-policy.ts";
import { openBeneath } from "../runtime/files/open-beneath.ts";
import { PathRefused } from "../runtime/files/path-refused.ts";
import { atOnce } from "./at-once.ts";
import { fileSource } from "./file-source.ts";
import { type FileProblem, quoted, type WantedFile } from "./find-output-files.ts";
import type { PresignedUrl, TransferDeps } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";
import { type FileFacts, uploadFile } from "./upload-file.ts";

type Outputs = {
  /** The output directory of the job. */
  base: FileHandle;
  files: readonly WantedFile[];
  location: { folder_id: string; prefix?: string | undefined };
  /** Asks for a fresh URL to put this file. Rejects with a TransferFailure if that is refused. */
  askUrl(file: FileFacts & { folderId: string; objectKey: string }): Promise<PresignedUrl>;
  signal: AbortSignal;
};

type UploadedOutputs = {
  /** Those that have arrived, in the order of the files. */
  stored: OutputFile[];
  /** Entries that a job may not have kept. */
  problems: FileProblem[];
  /** Files that should have arrived and have not, each with the reason. */
  failures: string[];
};

/** Enough to hide the time that small files spend on the way, few enough to leave others some of the connection. */
const uploadsAtOnce = 4;
/** A file that a job is still writing may be right the next time. */
const changedTriesMax = 3;

/**
 * Puts the files of a job into storage. One that is refused or fails does not keep the others back. When the signal is
 * aborted it resolves with what has arrived until then; any other error, such as a lost lease, is thrown.
 */
export async function uploadOutputs(deps: TransferDeps, outputs: Outputs): Promise<UploadedOutputs> {
  const { files, location, signal } = outputs;
  const stored = new Map<WantedFile, OutputFile>();
  const problems: FileProblem[] = [];
  const failures: string[] = [];
  await atOnce(files, uploadsAtOnce, async (file) => {
    if (signal.aborted) return;
    const objectKey = keyOf(location.prefix, file.objectKey);
    const problem = keyProblem(file.objectKey, objectKey);
    if (problem !== null) return void problems.push(problem);
    try {
      const facts = await uploadOne(deps, outputs, { path: file.path, objectKey });
      stored.set(file, { folder_id: location.folder_id, object_key: objectKey, ...facts });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PathRefused) problems.push({ message: error.message, leadsOut: error.leadsOut });
      else if (error instanceof TransferFailure) failures.push(`${quoted(file.path)}: ${error.message}`);
      else throw error;
    }
  });
  return { stored: files.flatMap((file) => stored.get(file) ?? []), problems, failures };
}

async function uploadOne(
  deps: TransferDeps,
  { base, location, askUrl, signal }: Outputs,
  { path, objectKey }: { path: string; objectKey: string },
): Promise<FileFacts> {
  const file = await openBeneath(base, path);
  try {
    for (let tries = 1; ; tries++) {
      try {
        const folderId = location.folder_id;
        return await uploadFile(deps, {
          source: await fileSource(file),
          askUrl: (facts) => askUrl({ folderId, objectKey, ...facts }),
          signal,
        });
      } catch (error) {
        const isChanged = error instanceof TransferFailure && error.problem === "changed";
        if (!isChanged || tries >= changedTriesMax) throw error;
      }
    }
  } finally {
    await file.close();
  }
}

function keyOf(prefix: string | undefined, key: string): string {
  if (prefix === undefined) return key;
  return prefix.endsWith("/") ? prefix + key : `${prefix}/${key}`;
}

function keyProblem(given: string, key: string): FileProblem | null {
  const problem = objectKeyProblem(given) ?? objectKeyProblem(key);
  if (problem === null) return null;
  const leadsOut = given.startsWith("/") || given.split("/").includes("..");
  return { message: `the key ${quoted(given)} ${problem}`, leadsOut };
}
