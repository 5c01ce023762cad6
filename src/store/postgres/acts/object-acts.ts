// Files of users and jobs: uploads that arrive, and files that end. Why: ADR 0041, ADR 0093.
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
} from "../../object-store.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { columns, lives, lockObject, unfinishedOf } from "./object-row.ts";

/** A tenant's sum is locked until the end: two uploads at once must not both find the last free bytes. */
async function charge(tx: Transaction, tenantId: string, bytes: number): Promise<void> {
  if (bytes === 0) return;
  const used = await tx.sql.first<{ bytes: number }>(
    `INSERT INTO object_usage (tenant_id, bytes) VALUES ($1, 0)
      ON CONFLICT (tenant_id) DO UPDATE SET bytes = object_usage.bytes RETURNING bytes`,
    tenantId,
  );
  const maxBytes = tx.shared.book.quota(tenantId).max_artifact_bytes;
  const refusal = checkArtifactBytes(used!.bytes, bytes, maxBytes);
  if (refusal !== null) throw new RefusedAct(refusal);
  tx.send("UPDATE object_usage SET bytes = bytes + $2::bigint WHERE tenant_id = $1", tenantId, bytes);
}

export async function openUploads(
  tx: Transaction,
  { uploads, nowMs, expiresAt }: { uploads: NewUpload[]; nowMs: number; expiresAt: number },
): Promise<UploadOutcome> {
  const ids: string[] = [];
  for (const upload of uploads) ids.push(await openUpload(tx, upload, { nowMs, expiresAt }));
  for (const tenantId of new Set(uploads.map((upload) => upload.tenantId))) await checkCount(tx, tenantId);
  return { kind: "opened", ids };
}

/** More than this undoes the whole act. Counting ends there. */
async function checkCount({ sql }: Transaction, tenantId: string): Promise<void> {
  const row = await sql.first<{ unfinished: number }>(
    `SELECT count(*) AS unfinished FROM (
        SELECT 1 FROM objects WHERE tenant_id = $1 AND state = 'arriving' LIMIT ${unfinishedMax + 1}) AS found`,
    tenantId,
  );
  if (row!.unfinished > unfinishedMax) throw new RefusedAct({ kind: "too_many", unfinishedMax });
}

async function openUpload(
  tx: Transaction,
  upload: NewUpload,
  { nowMs, expiresAt }: { nowMs: number; expiresAt: number },
): Promise<string> {
  const unfinished = await unfinishedOf(tx.sql, upload, nowMs);
  const same = unfinished.find((known) => isSameUpload(known, upload));
  if (same !== undefined) {
    tx.send("UPDATE objects SET expires_at = $1 WHERE id = $2", expiresAt, same.id);
    return same.id;
  }
  await charge(tx, upload.tenantId, upload.size ?? 0);
  tx.send(
    `INSERT INTO objects (id, tenant_id, user_id, folder_id, object_key, job_id, attempt, state, size, sha256,
        created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 'arriving', $8, $9, $10, $11)`,
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

export async function reserveUpload(
  tx: Transaction,
  { id, size, nowMs, expiresAt }: { id: string; size: number; nowMs: number; expiresAt: number },
): Promise<UploadOutcome> {
  const upload = await lockObject(tx.sql, { id, nowMs });
  if (upload?.state !== "arriving") return { kind: "unknown" };
  const reserved = Math.max(size, upload.size ?? 0);
  await charge(tx, upload.tenantId, reserved - (upload.size ?? 0));
  tx.send("UPDATE objects SET size = $1, expires_at = $2 WHERE id = $3", reserved, expiresAt, id);
  return { kind: "opened", ids: [id] };
}

export async function noteStoreUpload(
  { sql }: Transaction,
  { id, was, storeUpload }: { id: string; was: string | null; storeUpload: string | null },
): Promise<string | null> {
  await sql.run(
    "UPDATE objects SET store_upload = $1 WHERE id = $2 AND store_upload IS NOT DISTINCT FROM $3",
    storeUpload,
    id,
    was,
  );
  const row = await sql.first<{ name: string | null }>(
    "SELECT store_upload AS name FROM objects WHERE id = $1",
    id,
  );
  return row?.name ?? null;
}

export async function arriveObject(tx: Transaction, arrived: ArrivedObject): Promise<StoredObject | null> {
  const { id, size, sha256, storedAs, nowMs, keptUntil } = arrived;
  const upload = await lockObject(tx.sql, { id, nowMs });
  if (upload?.state !== "arriving") return upload;
  const isOfJob = upload.jobId !== null;
  if (!isOfJob) replaceOlder(tx, upload, { sha256, nowMs });
  await charge(tx, upload.tenantId, size - (upload.size ?? 0));
  return tx.sql.first<StoredObject>(
    `UPDATE objects SET state = $1, size = $2, sha256 = $3, stored_as = $4, created_at = $5, expires_at = $6
      WHERE id = $7 RETURNING ${columns}`,
    isOfJob ? "arrived" : "kept",
    size,
    sha256,
    storedAs,
    nowMs,
    isOfJob ? upload.expiresAt : keptUntil,
    id,
  );
}

/** Whether a job names this file as an input. */
const isNamed = `EXISTS (SELECT 1 FROM job_inputs AS named WHERE named.tenant_id = objects.tenant_id
  AND named.folder_id = objects.folder_id AND named.object_key = objects.object_key AND named.sha256 = objects.sha256)`;

/** The older files of the key lose its name. One that a job may still ask for stays, unless the new one has the same bytes. */
function replaceOlder(
  tx: Transaction,
  upload: StoredObject,
  { sha256, nowMs }: { sha256: string; nowMs: number },
): void {
  tx.send(
    `UPDATE objects SET replaced_at = $1::bigint,
          expires_at = CASE WHEN sha256 <> $2 AND ${isNamed} THEN expires_at ELSE $1::bigint END
        WHERE tenant_id = $3 AND folder_id = $4 AND object_key = $5 AND user_id = $6 AND job_id IS NULL
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
async function expireReplaced(
  { sql }: Transaction,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<void> {
  await sql.run(
    `UPDATE objects SET expires_at = $1 WHERE id IN (
        SELECT id FROM objects WHERE replaced_at IS NOT NULL AND expires_at > $1 AND NOT ${isNamed} LIMIT $2)`,
    nowMs,
    limit,
  );
}

export async function dropObjects(
  { sql }: Transaction,
  { tenantId, folderId, objectKey, userId, nowMs }: ObjectKey & { userId: string | null; nowMs: number },
): Promise<{ dropped: number }> {
  const dropped = await sql.run(
    `UPDATE objects SET expires_at = $1 WHERE tenant_id = $2 AND folder_id = $3 AND object_key = $4
        AND state = 'kept' AND user_id = coalesce($5, user_id) AND ${lives("$1")}`,
    nowMs,
    tenantId,
    folderId,
    objectKey,
    userId,
  );
  return { dropped };
}

export async function dropObject(
  { sql }: Transaction,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<void> {
  await sql.run("UPDATE objects SET expires_at = $1 WHERE id = $2", nowMs, id);
}

/** An attempt may run for days after it has put a file; what it holds stays for another while. */
export async function listExpired(
  tx: Transaction,
  { nowMs, holdUntil, limit }: { nowMs: number; holdUntil: number; limit: number },
): Promise<StoredObject[]> {
  const { sql } = tx;
  await expireReplaced(tx, { nowMs, limit });
  const due = await sql.all<StoredObject>(
    `SELECT ${columns} FROM objects WHERE expires_at IS NOT NULL AND expires_at <= $1 ORDER BY expires_at LIMIT $2`,
    nowMs,
    limit,
  );
  const held = await sql.all<{ id: string }>(
    `UPDATE objects o SET expires_at = $2 FROM jobs j JOIN active s USING (seq)
      WHERE o.id = ANY ($1) AND j.id = o.job_id AND s.attempt = o.attempt AND o.state <> 'kept' AND o.expires_at <> 0
      RETURNING o.id`,
    due.map(({ id }) => id),
    holdUntil,
  );
  const heldIds = new Set(held.map(({ id }) => id));
  const gone = due.filter(({ id }) => !heldIds.has(id)).map(({ id }) => id);
  return sql.all<StoredObject>(
    `UPDATE objects SET expires_at = 0 WHERE id = ANY ($1) AND expires_at <= $2 RETURNING ${columns}`,
    gone,
    nowMs,
  );
}

export async function forgetObjects(tx: Transaction, { ids }: { ids: string[] }): Promise<void> {
  const gone = await tx.sql.all<{ tenantId: string; size: number | null }>(
    `DELETE FROM objects WHERE id = ANY ($1) RETURNING tenant_id AS "tenantId", size`,
    ids,
  );
  for (const { tenantId, size } of gone) await charge(tx, tenantId, -(size ?? 0));
}
