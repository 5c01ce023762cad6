import { chmod, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JobDocument } from "../../contract/document.ts";
import { codeOf, hasCode } from "../../core/errors.ts";
import { inputBytesMax } from "../../core/limits.ts";
import { RunFailure } from "../../runners/runner.ts";
import { atOnce } from "../../transfer/at-once.ts";
import { downloadFile } from "../../transfer/download-file.ts";
import { TransferFailure } from "../../transfer/transfer-failure.ts";
import { type FileAttempt, type FileDeps, fileUrl } from "./file-urls.ts";

type FetchedInputs = { inputsDir?: string; stdinFile?: string };
type StoredFile = { folder_id: string; object_key: string; sha256: string };

const fetchesAtOnce = 4;
/** Readable and executable for the job's user, and not writable for any user: some inputs are programs. */
const inputMode = 0o555;

/**
 * Fetches the inputs that a document names into the attempt's directory, before the job starts. Each must have the
 * SHA-256 that the document was signed with. Throws a RunFailure, which is retried if storage was at fault, and is
 * final if the file does not exist or has other bytes. Why: ADR 0042.
 */
export async function fetchInputs(
  deps: FileDeps,
  attempt: FileAttempt,
  { run, dir }: { run: JobDocument["run"]; dir: string },
): Promise<FetchedInputs> {
  const fetched: FetchedInputs = {};
  if (run.inputs !== undefined) {
    const inputsDir = join(dir, "inputs");
    await mkdir(inputsDir, { mode: 0o755 });
    await atOnce(run.inputs, fetchesAtOnce, async ({ path, ...file }) => {
      const target = join(inputsDir, path);
      await mkdir(dirname(target), { recursive: true, mode: 0o755 });
      await fetchFile(deps, attempt, { file, target, name: `input ${path}` });
    });
    fetched.inputsDir = inputsDir;
  }
  if (run.kind === "exec" && run.stdin_from !== undefined) {
    const target = join(dir, "stdin");
    const bytesMax = inputBytesMax;
    await fetchFile(deps, attempt, { file: run.stdin_from, target, name: "standard input", bytesMax });
    fetched.stdinFile = target;
  }
  return fetched;
}

type InputFile = { file: StoredFile; target: string; name: string; bytesMax?: number };

async function fetchFile(deps: FileDeps, attempt: FileAttempt, input: InputFile): Promise<void> {
  const { file, target, bytesMax } = input;
  const { folder_id: folderId, object_key: objectKey, sha256 } = file;
  const handle = await open(target, "wx", 0o600);
  try {
    const askUrl = () => fileUrl(deps, attempt, { folderId, objectKey, method: "GET", sha256 });
    await downloadFile(deps.transfer, { target: handle, askUrl, sha256, bytesMax, signal: attempt.signal });
  } catch (error) {
    // The report of the attempt needs room on the same disk. If this fails, the directory is removed later.
    await handle.truncate(0).catch(() => {});
    throw failureOf(asTransferFailure(error), input);
  } finally {
    await handle.close();
  }
  await chmod(target, inputMode);
}

/** A full disk is a reason to retry elsewhere, not to release the job repeatedly. */
function asTransferFailure(error: unknown): TransferFailure {
  if (error instanceof TransferFailure) return error;
  if (!hasCode(error, "ENOSPC", "EDQUOT", "EFBIG", "EIO")) throw error;
  return new TransferFailure("unavailable", `the worker cannot write it (${codeOf(error)})`);
}

function failureOf({ problem, message }: TransferFailure, { file, name }: InputFile): RunFailure {
  const what = `${name} (${file.folder_id}/${file.object_key})`;
  if (problem === "missing") {
    return new RunFailure("INVALID_JOB", "NO_SUCH_INPUT", `${what} cannot be had: ${message}`);
  }
  if (problem === "mismatch") {
    return new RunFailure(
      "INVALID_JOB",
      "INPUT_CHECKSUM_MISMATCH",
      `${what} is not what was signed: ${message}`,
    );
  }
  if (problem === "too-large") {
    return new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", `${what} is too large: ${message}`);
  }
  return new RunFailure("EXECUTION_ERROR", "INPUT_UNAVAILABLE", `${what} could not be fetched: ${message}`);
}
