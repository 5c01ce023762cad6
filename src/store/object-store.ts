/**
 * The part of the store that knows the files of users and jobs: whose they are, how large, and until when they exist.
 * Why: ADR 0041, ADR 0093.
 */
export type ObjectStore = {
  /**
   * Announces uploads, all or none: with their sizes, as far as those are known, a tenant must stay within its
   * `max_artifact_bytes`, and never has more than `unfinishedMax` uploads that have not ended. An upload that was announced before with the same place, size and hash, and has not ended,
   * continues under its old id. Returns the ids in the order of the uploads.
   */
  openUploads(input: { uploads: NewUpload[]; nowMs: number; expiresAt: number }): Promise<UploadOutcome>;
  /**
   * Reserves room for an upload that was announced without a size, under the same condition. Of several that arrive under it
   * the largest counts, until one of them is the file. "unknown" if the upload has ended or no longer exists.
   */
  reserveUpload(input: {
    id: string;
    size: number;
    nowMs: number;
    expiresAt: number;
  }): Promise<UploadOutcome>;
  /**
   * Exchanges the object store's own name for an upload in parts, if it is still `was`; null for one that begins again.
   * Returns the name that holds from now on.
   */
  noteStoreUpload(input: {
    id: string;
    was: string | null;
    storeUpload: string | null;
  }): Promise<string | null>;
  /**
   * Everything has arrived, with this size and hash and under this name. The first call makes it the file; it never changes
   * after that. A user's file can be read from now on, for as long as given, and takes the name of the user's earlier upload
   * with the same key. That one ends, unless a job names it as an input: then it stays until no such job is left. A job's file waits
   * for the end of its attempt. Returns the file, which is another one's if that
   * came first. Null if the upload no longer exists.
   */
  arriveObject(input: ArrivedObject): Promise<StoredObject | null>;

  /** Null if it does not exist, or no longer. */
  getObject(input: { id: string; nowMs: number }): Promise<StoredObject | null>;
  /**
   * The file under this key that was the last to arrive; of one user, or of anybody in the tenant. With a hash, the last one
   * that has it.
   */
  findObject(input: WantedObject): Promise<StoredObject | null>;
  /** Uploads of one user under this key that have not ended, newest first. */
  listUploads(input: ObjectKey & { userId: string; nowMs: number }): Promise<StoredObject[]>;
  /** What the attempts of a job have stored, and are storing. */
  listJobObjects(input: { jobId: string; nowMs: number }): Promise<StoredObject[]>;

  /** Ends the existence of every file that a user, or anybody in the tenant, has under this key. */
  dropObjects(input: ObjectKey & { userId: string | null; nowMs: number }): Promise<{ dropped: number }>;
  /** Ends the existence of one. */
  dropObject(input: { id: string; nowMs: number }): Promise<void>;
  /**
   * Some of those that no longer exist and whose bytes can be removed: nothing brings them back from now on. What an
   * attempt has stored that still holds its lease stays for another while.
   */
  listExpired(input: { nowMs: number; holdUntil: number; limit: number }): Promise<StoredObject[]>;
  /** Their bytes are gone. */
  forgetObjects(input: { ids: string[] }): Promise<void>;

  /** How much each tenant stores. */
  listObjectUsage(): Promise<{ tenantId: string; bytes: number }[]>;
};

export type ObjectKey = { tenantId: string; folderId: string; objectKey: string };

export type WantedObject = ObjectKey & {
  userId: string | null;
  sha256?: string | undefined;
  nowMs: number;
};

export type NewUpload = ObjectKey & {
  /** Used unless the upload continues under an old one. Ids that are made later sort later. */
  id: string;
  userId: string;
  jobId: string | null;
  attempt: number | null;
  size: number | null;
  sha256: string | null;
};

export type StoredObject = NewUpload & {
  /** The object store's own name for an upload in parts. */
  storeUpload: string | null;
  /** The name of the bytes at their place, as their driver gave it. */
  storedAs: string | null;
  state: "arriving" | "arrived" | "kept";
  createdAt: number;
  expiresAt: number | null;
};

export type ArrivedObject = {
  id: string;
  size: number;
  sha256: string;
  storedAs: string;
  nowMs: number;
  keptUntil: number;
};

export type UploadOutcome =
  | { kind: "opened"; ids: string[] }
  | { kind: "over_quota"; usedBytes: number; maxBytes: number }
  | { kind: "too_many"; unfinishedMax: number }
  | { kind: "unknown" };

/** An upload that never begins costs a row for a day; no user needs more at the same time. */
export const unfinishedMax = 10_000;

/**
 * The refusal of uploads that would take a tenant above its quota, or null. Without a quota, the sum that is kept of them must
 * still be a number that can be read: an upload may be announced with any size.
 */
export function checkArtifactBytes(
  usedBytes: number,
  addedBytes: number,
  maxBytes = Number.MAX_SAFE_INTEGER,
): UploadOutcome | null {
  if (addedBytes <= 0 || usedBytes + addedBytes <= maxBytes) return null;
  return { kind: "over_quota", usedBytes, maxBytes };
}

/** Whether the upload continues this one: only bytes that are known to be the same may be continued. */
export function isSameUpload(known: StoredObject, upload: NewUpload): boolean {
  return (
    known.state !== "kept" &&
    known.userId === upload.userId &&
    known.jobId === upload.jobId &&
    known.attempt === upload.attempt &&
    known.sha256 !== null &&
    known.sha256 === upload.sha256 &&
    known.size === upload.size
  );
}
