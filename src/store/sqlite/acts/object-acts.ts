// Files of users and jobs: uploads that arrive, and files that end. Why: ADR 0041, ADR 0093.
import { isActive } from "../../../core/jobs/job.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import {
  type ArrivedObject,
  checkArtifactBytes,
  isSameUpload,
  type NewUpload,
  type ObjectKey,
  type StoredObject,
  type UploadOutcome,
  unfinishedMax,
  type WantedObject,
} from "../../object-store.ts";
import type { ColdContext, Context } from "../context.ts";
import { findById } from "../jobs/load-entry.ts";
import type { ReadContext } from "../reads/read-context.ts";

const columns = `id, tenant_id AS tenantId, user_id AS userId, folder_id AS folderId, object_key AS objectKey,
  job_id AS jobId, attempt, state, size, sha256, created_at AS createdAt, expires_at AS expiresAt,
  store_upload AS storeUpload, stored_as AS storedAs`;

const lives = "(expires_at IS NULL OR expires_at > ?)";

export function openUploads(
  context: ColdContext,
  { uploads, nowMs, expiresAt }: { uploads: NewUpload[]; nowMs: number; expiresAt: number },
): UploadOutcome {
  const ids = uploads.map((upload) => openUpload(context, upload, { nowMs, expiresAt }));
  for (const tenantId of new Set(uploads.map((upload) => upload.tenantId))) checkCount(context, tenantId);
  return { kind: "opened", ids };
}

/** More than this undoes the whole act. Counting ends there. */
function checkCount({ sql }: ColdContext, tenantId: string): void {
  const { unfinished } = sql.first<{ unfinished: number }>(
    `SELECT count(*) AS unfinished FROM (
        SELECT 1 FROM objects WHERE tenant_id = ? AND state = 'arriving' LIMIT ${unfinishedMax + 1})`,
    tenantId,
  )!;
  if (unfinished > unfinishedMax) throw new RefusedAct({ kind: "too_many", unfinishedMax });
}

function openUpload(
  context: ColdContext,
  upload: NewUpload,
  { nowMs, expiresAt }: { nowMs: number; expiresAt: number },
): string {
  const same = unfinishedOf(context, upload, nowMs).find((known) => isSameUpload(known, upload));
  if (same !== undefined) {
    context.sql.run("UPDATE objects SET expires_at = ? WHERE id = ?", expiresAt, same.id);
    return same.id;
  }
  charge(context, upload.tenantId, upload.size ?? 0);
  context.sql.run(
    `INSERT INTO objects (id, tenant_id, user_id, folder_id, object_key, job_id, attempt, state, size, sha256,
        created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'arriving', ?, ?, ?, ?)`,
    upload.id,
    upload.tenantId,
    upload.userId,
    upload.folderId,
    upload.objectKey,
    upload.jobId,
    upload.attempt,
    upload.size,
    upload.sha256,
    nowMs,
    expiresAt,
  );
  return upload.id;
}

export function reserveUpload(
  context: ColdContext,
  { id, size, nowMs, expiresAt }: { id: string; size: number; nowMs: number; expiresAt: number },
): UploadOutcome {
  const upload = getObject(context, { id, nowMs });
  if (upload?.state !== "arriving") return { kind: "unknown" };
  const reserved = Math.max(size, upload.size ?? 0);
  charge(context, upload.tenantId, reserved - (upload.size ?? 0));
  context.sql.run("UPDATE objects SET size = ?, expires_at = ? WHERE id = ?", reserved, expiresAt, id);
  return { kind: "opened", ids: [id] };
}

export function noteStoreUpload(
  { sql }: ColdContext,
  { id, was, storeUpload }: { id: string; was: string | null; storeUpload: string | null },
): string | null {
  sql.run("UPDATE objects SET store_upload = ? WHERE id = ? AND store_upload IS ?", storeUpload, id, was);
  const row = sql.first<{ name: string | null }>("SELECT store_upload AS name FROM objects WHERE id = ?", id);
  return row?.name ?? null;
}

/** Counts bytes of a tenant; more than its quota allows undoes the whole act. */
function charge({ sql, book }: ColdContext, tenantId: string, bytes: number): void {
  if (bytes === 0) return;
  const used = sql.first<{ bytes: number }>("SELECT bytes FROM object_usage WHERE tenant_id = ?", tenantId);
  const refusal = checkArtifactBytes(used?.bytes ?? 0, bytes, book.quota(tenantId).max_artifact_bytes);
  if (refusal !== null) throw new RefusedAct(refusal);
  sql.run(
    `INSERT INTO object_usage (tenant_id, bytes) VALUES (?, ?)
      ON CONFLICT (tenant_id) DO UPDATE SET bytes = bytes + excluded.bytes`,
    tenantId,
    bytes,
  );
}

export function arriveObject(context: ColdContext, arrived: ArrivedObject): StoredObject | null {
  const { id, size, sha256, storedAs, nowMs, keptUntil } = arrived;
  const upload = getObject(context, { id, nowMs });
  if (upload?.state !== "arriving") return upload;
  const isOfJob = upload.jobId !== null;
  if (!isOfJob) replaceOlder(context, upload, { sha256, nowMs });
  charge(context, upload.tenantId, size - (upload.size ?? 0));
  context.sql.run(
    `UPDATE objects SET state = ?, size = ?, sha256 = ?, stored_as = ?, created_at = ?, expires_at = ?
        WHERE id = ?`,
    isOfJob ? "arrived" : "kept",
    size,
    sha256,
    storedAs,
    nowMs,
    isOfJob ? upload.expiresAt : keptUntil,
    id,
  );
  return objectById(context, id);
}

/** Whether a job names this file as an input. */
const isNamed = `EXISTS (SELECT 1 FROM job_inputs AS named WHERE named.tenant_id = objects.tenant_id
  AND named.folder_id = objects.folder_id AND named.object_key = objects.object_key AND named.sha256 = objects.sha256)`;

/** The older files of the key lose its name. One that a job may still ask for stays, unless the new one has the same bytes. */
function replaceOlder(
  { sql }: ColdContext,
  upload: StoredObject,
  { sha256, nowMs }: { sha256: string; nowMs: number },
): void {
  sql.run(
    `UPDATE objects SET replaced_at = ?1,
          expires_at = CASE WHEN sha256 <> ?2 AND ${isNamed} THEN expires_at ELSE ?1 END
        WHERE tenant_id = ?3 AND folder_id = ?4 AND object_key = ?5 AND user_id = ?6 AND job_id IS NULL
        AND state = 'kept'`,
    nowMs,
    sha256,
    upload.tenantId,
    upload.folderId,
    upload.objectKey,
    upload.userId,
  );
}

/** Replaced files that no job names any more. */
function expireReplaced({ sql }: ColdContext, { nowMs, limit }: { nowMs: number; limit: number }): void {
  sql.run(
    `UPDATE objects SET expires_at = ?1 WHERE id IN (
        SELECT id FROM objects WHERE replaced_at IS NOT NULL AND expires_at > ?1 AND NOT ${isNamed} LIMIT ?2)`,
    nowMs,
    limit,
  );
}

export function getObject(
  context: ColdContext,
  { id, nowMs }: { id: string; nowMs: number },
): StoredObject | null {
  return context.sql.first<StoredObject>(
    `SELECT ${columns} FROM objects WHERE id = ? AND ${lives}`,
    id,
    nowMs,
  );
}

export function findObject(
  context: ColdContext,
  { tenantId, folderId, objectKey, userId, sha256, nowMs }: WantedObject,
): StoredObject | null {
  return context.sql.first<StoredObject>(
    `SELECT ${columns} FROM objects WHERE tenant_id = ? AND folder_id = ? AND object_key = ? AND state = 'kept'
        AND user_id = coalesce(?, user_id) AND sha256 = coalesce(?, sha256) AND ${lives}
        ORDER BY created_at DESC, id DESC LIMIT 1`,
    tenantId,
    folderId,
    objectKey,
    userId,
    sha256 ?? null,
    nowMs,
  );
}

export function listUploads(
  context: ColdContext,
  { nowMs, ...key }: ObjectKey & { userId: string; nowMs: number },
): StoredObject[] {
  return unfinishedOf(context, { ...key, jobId: null, attempt: null }, nowMs).reverse();
}

export function listJobObjects(
  context: ColdContext,
  { jobId, nowMs }: { jobId: string; nowMs: number },
): StoredObject[] {
  return context.sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE job_id = ? AND ${lives}`,
    jobId,
    nowMs,
  );
}

export function dropObjects(
  { sql }: ColdContext,
  { tenantId, folderId, objectKey, userId, nowMs }: ObjectKey & { userId: string | null; nowMs: number },
): { dropped: number } {
  const dropped = sql.run(
    `UPDATE objects SET expires_at = ? WHERE tenant_id = ? AND folder_id = ? AND object_key = ? AND state = 'kept'
        AND user_id = coalesce(?, user_id) AND ${lives}`,
    nowMs,
    tenantId,
    folderId,
    objectKey,
    userId,
    nowMs,
  );
  return { dropped };
}

export function dropObject({ sql }: ColdContext, { id, nowMs }: { id: string; nowMs: number }): void {
  sql.run("UPDATE objects SET expires_at = ? WHERE id = ?", nowMs, id);
}

/** When the rows of jobs are deleted, what they have stored goes too. */
export function dropJobObjects({ sql }: ColdContext, jobId: string): void {
  sql.run("UPDATE objects SET expires_at = 0 WHERE job_id = ?", jobId);
}

export function listExpired(
  context: Context,
  { nowMs, holdUntil, limit }: { nowMs: number; holdUntil: number; limit: number },
): StoredObject[] {
  expireReplaced(context, { nowMs, limit });
  const due = context.sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
    nowMs,
    limit,
  );
  const gone = due.filter((object) => !hold(context, object, holdUntil));
  for (const { id } of gone) context.sql.run("UPDATE objects SET expires_at = 0 WHERE id = ?", id);
  return gone;
}

/** An attempt may run for days after it has put a file. */
function hold(context: Context, object: StoredObject, holdUntil: number): boolean {
  if (object.jobId === null || object.state === "kept" || object.expiresAt === 0) return false;
  const job = findById(context, object.jobId)?.record;
  if (job === undefined || job.attempt !== object.attempt || !isActive(job.status)) return false;
  context.sql.run("UPDATE objects SET expires_at = ? WHERE id = ?", holdUntil, object.id);
  return true;
}

export function forgetObjects(context: ColdContext, { ids }: { ids: string[] }): void {
  for (const id of ids) {
    const object = objectById(context, id);
    if (object === null) continue;
    context.sql.run("DELETE FROM objects WHERE id = ?", id);
    charge(context, object.tenantId, -(object.size ?? 0));
  }
}

export function listObjectUsage({ sql }: Pick<ReadContext, "sql">): { tenantId: string; bytes: number }[] {
  return sql.all("SELECT tenant_id AS tenantId, bytes FROM object_usage");
}

function objectById({ sql }: ColdContext, id: string): StoredObject | null {
  return sql.first<StoredObject>(`SELECT ${columns} FROM objects WHERE id = ?`, id);
}

type Owner = ObjectKey & Pick<NewUpload, "userId" | "jobId" | "attempt">;

/**
 * What this user, or this attempt, has announced under a key and not finished. Many jobs may store the same key, so
 * theirs are not looked at.
 */
function unfinishedOf({ sql }: ColdContext, owner: Owner, nowMs: number): StoredObject[] {
  const { tenantId, folderId, objectKey, userId, jobId, attempt } = owner;
  const whose = jobId === null ? "job_id IS NULL AND user_id = ?" : "job_id = ? AND attempt = ?";
  return sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE ${whose} AND tenant_id = ? AND folder_id = ? AND object_key = ?
        AND state <> 'kept' AND ${lives} ORDER BY id`,
    ...(jobId === null ? [userId] : [jobId, attempt]),
    tenantId,
    folderId,
    objectKey,
    nowMs,
  );
}
