import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { type FailureDetail, failureDetails } from "../../core/jobs/failure.ts";
import { temporaryBeside } from "../../runtime/files/private-file.ts";
import { FetchError, type FetchProblem } from "../../runtime/guarded-fetch/fetch-error.ts";
import { type GuardDeps, guardedFetch, type Received } from "../../runtime/guarded-fetch/guarded-fetch.ts";
import { RunFailure } from "../runner.ts";

type SolverDownload = {
  url: string;
  sha256: string;
  /** The path of the complete file with the right hash. */
  file: string;
  bytesMax: number;
  signal: AbortSignal;
  onProgress(received: Received): void;
};

/** Downloads a solver; resolves with its size once it is published, complete and durable. Otherwise leaves no file. */
export async function downloadSolver(guard: GuardDeps, download: SolverDownload): Promise<number> {
  const { file } = download;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = temporaryBeside(file);
  const handle = await open(temporary, "wx", 0o600);
  try {
    const sizeBytes = await fetchInto(guard, handle, download).finally(() => handle.close());
    await rename(temporary, file);
    await syncDirectory(dirname(file));
    return sizeBytes;
  } catch (error) {
    // The error of the download counts; the next start removes leftovers.
    await unlink(temporary).catch(() => {});
    throw error instanceof FetchError ? asFailure(error) : error;
  }
}

async function fetchInto(guard: GuardDeps, handle: FileHandle, download: SolverDownload): Promise<number> {
  const { url, sha256, bytesMax, signal, onProgress } = download;
  const hash = createHash("sha256");
  let sizeBytes = 0;
  await guardedFetch(guard, {
    url,
    bytesMax,
    signal,
    async write(chunk, received) {
      hash.update(chunk);
      await handle.writeFile(chunk);
      sizeBytes = received.bytes;
      onProgress(received);
    },
  });
  refuseOther(hash.digest("hex"), sha256);
  await handle.sync();
  return sizeBytes;
}

function refuseOther(found: string, expected: string): void {
  if (found === expected) return;
  throw new RunFailure(
    "INVALID_JOB",
    "SOLVER_CHECKSUM_MISMATCH",
    `the solver has the SHA-256 ${found}, not ${expected}; nothing was run`,
  );
}

/** A host that is away now may be back later; the other problems are there at every try. */
const codes = {
  forbidden: "URL_FORBIDDEN",
  "too-large": "JOB_NOT_ACCEPTED",
  failed: "HTTP_REQUEST_FAILED",
} as const satisfies Record<FetchProblem, FailureDetail>;

export function asFailure({ problem, message }: FetchError): RunFailure {
  const code = codes[problem];
  return new RunFailure(failureDetails[code], code, `the solver was not downloaded: ${message}`);
}

/** A file name is durable only when its directory is synced. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  await directory.sync().finally(() => directory.close());
}
