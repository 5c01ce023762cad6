import type { JobDocument } from "../../../contract/document.ts";
import type { ArtifactList } from "../../../contract/shapes/storage-shapes.ts";
import { invalidArgument, WritError } from "../../../core/errors.ts";
import type { Origin } from "../../../core/events.ts";
import type { Identity } from "../../../core/identity.ts";
import type { OutputFile } from "../../../core/jobs/output-file.ts";
import { imageTypeOf } from "../../../core/text/image-type.ts";
import type { StoredObject } from "../../../store/object-store.ts";
import type { HubDeps } from "../../deps.ts";
import { findJob } from "../jobs/find-job.ts";
import { bytesGone, findGone, hasBytes } from "./bytes-present.ts";
import { downloadUrl } from "./presign-files.ts";

type JobCall = { identity: Identity; origin: Origin; jobId: string };
type Artifact = OutputFile & { path: string; object: StoredObject | null };

/** The files that a job has stored, for a caller who may read the job. */
export async function listArtifacts(deps: HubDeps, call: JobCall): Promise<ArtifactList["files"]> {
  const artifacts = await artifactsOf(deps, call);
  const gone = await findGone(
    deps,
    artifacts.flatMap(({ object }) => object ?? []),
  );
  return artifacts.map(({ object, ...file }) => ({
    ...file,
    available: object !== null && !gone.has(object.id),
  }));
}

/** Makes the URL of one of the files. */
export async function artifactUrl(
  deps: HubDeps,
  call: FileCall & { hubUrl: string; isPreview: boolean },
): Promise<string> {
  const found = await findArtifact(deps, call);
  if (!call.isPreview) return downloadUrl(deps, call.hubUrl, found.object);
  return downloadUrl(deps, call.hubUrl, found.object, previewType(found));
}

type FileCall = JobCall & { key: string; folderId: string | undefined };

/** Finds one of the files, with its bytes in storage. */
export async function findArtifact(
  deps: HubDeps,
  call: FileCall,
): Promise<Artifact & { object: StoredObject }> {
  const { jobId, key, folderId } = call;
  const artifacts = await artifactsOf(deps, call);
  const [found, second] = artifacts.filter(
    ({ object_key, folder_id }) => object_key === key && (folderId ?? folder_id) === folder_id,
  );
  if (found === undefined) throw new WritError("NOT_FOUND", `job ${jobId} has no file ${key}`);
  if (second !== undefined) {
    const message = `is required: the job has ${key} in ${found.folder_id} and in ${second.folder_id}`;
    throw invalidArgument({ path: "folder_id", message });
  }
  const { object } = found;
  if (object === null) throw new WritError("FILE_REMOVED", `${key} of job ${jobId} was deleted`);
  if (!(await hasBytes(deps, object))) throw bytesGone(deps, object, found.size);
  return { ...found, object };
}

function previewType({ object_key: name, size }: Artifact): string {
  const type = imageTypeOf({ name, size });
  if (type !== null) return type;
  const message = `must be false for ${name}: it is not named like a picture, or is larger than 8 MiB`;
  throw invalidArgument({ path: "preview", message });
}

async function artifactsOf(deps: HubDeps, call: JobCall): Promise<Artifact[]> {
  const { job, document, damaged } = await findJob(deps, { ...call, to: "read" });
  if (damaged.includes("output_files")) {
    throw new WritError("STORE_CORRUPT", `the list of files of job ${job.id} is damaged in the database`);
  }
  const files = JSON.parse(job.outputFiles ?? "[]") as OutputFile[];
  if (files.length === 0) return [];
  const objects = await deps.store.listJobObjects({ jobId: job.id, nowMs: deps.clock.nowMs() });
  const kept = objects.filter(({ state }) => state === "kept");
  const byKey = Map.groupBy(kept, ({ folderId, objectKey }) => `${folderId}/${objectKey}`);
  const { output_location: location } = JSON.parse(document) as JobDocument;
  return files.map((file) => {
    const here = byKey.get(`${file.folder_id}/${file.object_key}`) ?? [];
    const path = keyBelow(location?.prefix, file.object_key);
    return { ...file, path, object: here.find((object) => isFile(object, file)) ?? null };
  });
}

/** The key below the job's prefix. A policy may allow other places too; files there keep their whole key. */
function keyBelow(prefix: string | undefined, key: string): string {
  const above = prefix === undefined || prefix.endsWith("/") ? (prefix ?? "") : `${prefix}/`;
  return key.startsWith(above) ? key.slice(above.length) : key;
}

function isFile(object: StoredObject, { sha256, size }: OutputFile): boolean {
  return object.sha256 === sha256 && object.size === size;
}
