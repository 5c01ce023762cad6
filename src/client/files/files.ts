// Files in the hub's storage, for programs that use the SDK. Why: ADR 0042.
import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";
import { fileRoutes } from "../../contract/routes/file-routes.ts";
import { codeOf, hasCode, WritError } from "../../core/errors.ts";
import type { OutputFile } from "../../core/jobs/output-file.ts";
import { checkOptions, type OptionNames } from "../../runtime/check-options.ts";
import { PathRefused } from "../../runtime/files/path-refused.ts";
import { type DownloadTarget, downloadFile } from "../../transfer/download-file.ts";
import { bytesSource, type FileSource, fileSource, hashOf } from "../../transfer/file-source.ts";
import { type FileFacts, uploadFile } from "../../transfer/upload-file.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import type { Artifact, JobInputFile, StoredFile } from "../shapes.ts";
import { asWritErrors, presign, urlSource } from "./file-call.ts";
import { openTargetFolder, type TargetFolder } from "./target-folder.ts";

export type TransferOptions = {
  signal?: AbortSignal | undefined;
  /** Called while bytes move, with how many have arrived. */
  onProgress?: ((bytes: number) => void) | undefined;
};

export type UploadOptions = TransferOptions & {
  /** Where to keep it (default: the folder `uploads`, under its SHA-256, so that the same bytes are sent once). */
  folderId?: string;
  objectKey?: string;
  /** Called while the file is hashed, before it is sent, with how many bytes are done. */
  onHash?: ((bytes: number) => void) | undefined;
};

export type SaveOptions = Omit<TransferOptions, "onProgress"> & {
  onProgress?: ((file: Artifact, bytes: number) => void) | undefined;
  /** Only these files of the job. */
  files?: readonly Artifact[] | undefined;
};

const transferOptions: OptionNames<TransferOptions> = { signal: true, onProgress: true };
const uploadOptions: OptionNames<UploadOptions> = {
  ...transferOptions,
  folderId: true,
  objectKey: true,
  onHash: true,
};
const saveOptions: OptionNames<SaveOptions> = { ...transferOptions, files: true };

const uploadFolder = "uploads";

/** Files in the hub's storage: what jobs read, and what they leave. */
export class Files {
  readonly #hub: HubCaller;

  constructor(hub: HubCaller) {
    this.#hub = hub;
  }

  /** Puts a file, by its path, or some bytes into storage. What is there already is not sent again. */
  async upload(file: string | Uint8Array, options: UploadOptions = {}): Promise<StoredFile> {
    checkOptions("upload", options, uploadOptions);
    const name = typeof file === "string" ? file : "the upload";
    const handle = typeof file === "string" ? await openFile(file) : undefined;
    try {
      const source = handle === undefined ? bytesSource(file as Uint8Array) : await fileSource(handle);
      return await asWritErrors(name, () => this.#upload(source, options));
    } finally {
      await handle?.close();
    }
  }

  /** Uploads a file and describes it as an input of a job: `run.inputs` is a list of these. */
  async input(
    file: string | Uint8Array,
    options: UploadOptions & { path?: string } = {},
  ): Promise<JobInputFile> {
    checkOptions("input", options, { ...uploadOptions, path: true });
    const { path, ...upload } = options;
    const { size: _size, ...stored } = await this.upload(file, upload);
    if (path === undefined && typeof file !== "string")
      throw new WritError("INVALID_ARGUMENT", "path: bytes need a name below inputs/");
    return { path: path ?? basename(file as string), ...stored };
  }

  /** Fetches a file to a path. With its SHA-256, bytes that differ are refused. */
  async download(
    file: Omit<StoredFile, "sha256" | "size"> & { sha256?: string },
    path: string,
    options: TransferOptions = {},
  ): Promise<FileFacts> {
    checkOptions("download", options, transferOptions);
    const { folder_id: folderId, object_key: objectKey, sha256 } = file;
    const signal = signalOf(options);
    const ask = () => presign(this.#hub, { folderId, objectKey, method: "GET" }, signal);
    const target = await open(path, "w");
    try {
      return await this.#fetch(`${folderId}/${objectKey}`, { target, ask, sha256, ...options, signal });
    } finally {
      await target.close();
    }
  }

  /** The files that a job has left. */
  async artifacts(jobId: string): Promise<Artifact[]> {
    return (await this.#hub.call(fileRoutes.listArtifacts, { params: { id: jobId } })).body.files;
  }

  /** Fetches files of a job into a directory, which is made if need be; nothing outside it is ever written. */
  async saveArtifacts(jobId: string, dir: string, options: SaveOptions = {}): Promise<Artifact[]> {
    checkOptions("saveArtifacts", options, saveOptions);
    const { files, onProgress, signal } = options;
    const wanted = files ?? (await this.artifacts(jobId));
    const base = await openTarget(dir);
    try {
      for (const file of wanted) {
        const progress = onProgress && ((bytes: number) => onProgress(file, bytes));
        await this.#save(jobId, { file, base, dir }, { signal, onProgress: progress });
      }
      return [...wanted];
    } finally {
      await base.close();
    }
  }

  /** Reads a file of a job without keeping it, and returns what it is: to compare it with the job's receipt. */
  async hashArtifact(jobId: string, file: Artifact, options: TransferOptions = {}): Promise<FileFacts> {
    checkOptions("hashArtifact", options, transferOptions);
    const nowhere: DownloadTarget = {
      write: async (_chunk, _offset, length) => ({ bytesWritten: length }),
      truncate: async () => {},
    };
    const transfer = { target: nowhere, ask: this.#askArtifact(jobId, file, signalOf(options)) };
    return this.#fetch(file.object_key, {
      ...transfer,
      sha256: undefined,
      ...options,
      signal: signalOf(options),
    });
  }

  async #save(
    jobId: string,
    { file, base, dir }: { file: Artifact; base: TargetFolder; dir: string },
    options: TransferOptions,
  ): Promise<void> {
    const signal = signalOf(options);
    const created = await base.create(file.path).catch((error: unknown) => {
      throw notWritten(error, { file, dir });
    });
    try {
      const ask = this.#askArtifact(jobId, file, signal);
      const { sha256 } = file;
      await this.#fetch(file.object_key, { target: created.handle, ask, sha256, ...options, signal });
      await created.keep();
    } catch (error) {
      throw notWritten(error, { file, dir });
    } finally {
      await created.discard();
    }
  }

  #askArtifact(jobId: string, { folder_id, object_key }: OutputFile, signal: AbortSignal) {
    return async (): Promise<string> => {
      const input = { params: { id: jobId, key: object_key }, query: { folder_id } };
      const { header } = await this.#hub.call(fileRoutes.getArtifact, input, { signal });
      const url = header("location");
      if (url !== undefined) return url;
      throw new WritError("HTTP_ERROR", "the hub's response contains no URL");
    };
  }

  async #upload(source: FileSource, options: UploadOptions): Promise<StoredFile> {
    const signal = signalOf(options);
    const sha256 = await hashOf(source, signal, options.onHash);
    const { folderId = uploadFolder, objectKey = sha256, onProgress } = options;
    const { size } = source;
    const stored = { folder_id: folderId, object_key: objectKey, sha256, size };
    // Under any other key there may be other bytes.
    const isNamedByHash = objectKey === sha256;
    if (isNamedByHash && (await this.#has({ folderId, objectKey }, signal))) return stored;
    const ask = () => presign(this.#hub, { folderId, objectKey, method: "PUT", size, sha256 }, signal);
    const askUrl = urlSource(this.#hub, signal, ask);
    await uploadFile(await this.#hub.transfer(), { source, sha256, askUrl, signal, onProgress });
    return stored;
  }

  async #has(place: { folderId: string; objectKey: string }, signal: AbortSignal): Promise<boolean> {
    try {
      await presign(this.#hub, { ...place, method: "HEAD" }, signal);
      return true;
    } catch (error) {
      if (hasCode(error, "NOT_FOUND", "FILE_REMOVED", "PERMISSION_DENIED")) return false;
      throw error;
    }
  }

  async #fetch(name: string, { ask, ...download }: DownloadInput): Promise<FileFacts> {
    const deps = await this.#hub.transfer();
    const askUrl = urlSource(this.#hub, download.signal, ask);
    return asWritErrors(name, () => downloadFile(deps, { ...download, askUrl }));
  }
}

type DownloadInput = {
  target: DownloadTarget;
  ask(): Promise<string | Awaited<ReturnType<typeof presign>>>;
  sha256: string | undefined;
  signal: AbortSignal;
  onProgress?: TransferOptions["onProgress"];
};

function signalOf({ signal }: { signal?: AbortSignal | undefined }): AbortSignal {
  return signal ?? new AbortController().signal;
}

/** Opens the directory in which files are saved, and makes it if need be. */
async function openTarget(dir: string): Promise<TargetFolder> {
  try {
    return await openTargetFolder(dir);
  } catch (error) {
    throw notWritten(error, { dir });
  }
}

/** Why a file cannot be saved: a path that leads elsewhere, or what the system says. Other errors stay what they are. */
function notWritten(error: unknown, { file, dir }: { file?: Artifact; dir: string }): unknown {
  const what = file === undefined ? "files cannot be saved" : `${file.object_key} is not written`;
  if (error instanceof PathRefused)
    return new WritError("INVALID_ARGUMENT", `${what} to ${dir}: ${error.message}`);
  const code = error instanceof WritError ? undefined : systemCodeOf(error);
  if (code === undefined) return error;
  const advice = code === "ENOSPC" || code === "EDQUOT" ? "make room there" : "choose another directory";
  return new WritError("INVALID_ARGUMENT", `${what} to ${dir} (${code})`, { advice });
}

/** The code of an error of the file system, such as EACCES; network errors never come here as such. */
function systemCodeOf(error: unknown): string | undefined {
  return error instanceof Error && "syscall" in error ? codeOf(error) : undefined;
}

async function openFile(path: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, "r");
    const status = await handle.stat();
    if (status.isFile()) return handle;
    const what = status.isDirectory()
      ? "is a directory; pack it into an archive first, for example with tar"
      : "is not a plain file";
    throw new WritError("INVALID_ARGUMENT", `${path} ${what}`);
  } catch (error) {
    await handle?.close();
    if (error instanceof WritError) throw error;
    throw new WritError("NOT_FOUND", `${path} cannot be read (${codeOf(error)})`, {
      advice: "check the path",
    });
  }
}
