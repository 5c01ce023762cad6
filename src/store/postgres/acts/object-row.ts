// The row of a file, read or locked. Why: ADR 0041.
import type { NewUpload, ObjectKey, StoredObject, WantedObject } from "../../object-store.ts";
import type { Connection } from "../connection/connection.ts";

export const columns = `id, tenant_id AS "tenantId", user_id AS "userId", folder_id AS "folderId",
  object_key AS "objectKey", job_id AS "jobId", attempt, state, size, sha256, created_at AS "createdAt",
  expires_at AS "expiresAt", store_upload AS "storeUpload", stored_as AS "storedAs"`;

export const lives = (now: string): string => `(expires_at IS NULL OR expires_at > ${now})`;

const objectText = `SELECT ${columns} FROM objects WHERE id = $1 AND ${lives("$2")}`;

export function getObject(
  sql: Connection,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<StoredObject | null> {
  return sql.first<StoredObject>(objectText, id, nowMs);
}

/** The same, for a transaction that changes it. */
export function lockObject(
  sql: Connection,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<StoredObject | null> {
  return sql.first<StoredObject>(`${objectText} FOR UPDATE`, id, nowMs);
}

export function findObject(
  sql: Connection,
  { tenantId, folderId, objectKey, userId, sha256, nowMs }: WantedObject,
): Promise<StoredObject | null> {
  return sql.first<StoredObject>(
    `SELECT ${columns} FROM objects WHERE tenant_id = $1 AND folder_id = $2 AND object_key = $3 AND state = 'kept'
        AND user_id = coalesce($4, user_id) AND sha256 = coalesce($6, sha256) AND ${lives("$5")}
        ORDER BY created_at DESC, id DESC LIMIT 1`,
    tenantId,
    folderId,
    objectKey,
    userId,
    nowMs,
    sha256 ?? null,
  );
}

export async function listUploads(
  sql: Connection,
  { nowMs, ...key }: ObjectKey & { userId: string; nowMs: number },
): Promise<StoredObject[]> {
  return (await unfinishedOf(sql, { ...key, jobId: null, attempt: null }, nowMs)).reverse();
}

export function listJobObjects(
  sql: Connection,
  { jobId, nowMs }: { jobId: string; nowMs: number },
): Promise<StoredObject[]> {
  return sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE job_id = $1 AND ${lives("$2")} ORDER BY id`,
    jobId,
    nowMs,
  );
}

export function listObjectUsage(sql: Connection): Promise<{ tenantId: string; bytes: number }[]> {
  return sql.all(`SELECT tenant_id AS "tenantId", bytes FROM object_usage`);
}

type Owner = ObjectKey & Pick<NewUpload, "userId" | "jobId" | "attempt">;

/**
 * What this user, or this attempt, has announced under a key and not finished. Many jobs may store the same key, so
 * theirs are not looked at.
 */
export function unfinishedOf(sql: Connection, owner: Owner, nowMs: number): Promise<StoredObject[]> {
  const { tenantId, folderId, objectKey, userId, jobId, attempt } = owner;
  const whose = jobId === null ? "job_id IS NULL AND user_id = $5" : "job_id = $5 AND attempt = $6";
  return sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE ${whose} AND tenant_id = $1 AND folder_id = $2 AND object_key = $3
        AND state <> 'kept' AND ${lives("$4")} ORDER BY id`,
    tenantId,
    folderId,
    objectKey,
    nowMs,
    ...(jobId === null ? [userId] : [jobId, attempt]),
  );
}
