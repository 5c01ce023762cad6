/**
 * The interface to the bytes of files that users and jobs store. Permissions, what a file is called and until when it
 * exists is in the database; a driver only keeps bytes under a place. test/objects-contract checks every driver against
 * this page.
 *
 * What callers rely on:
 *
 * - **A place is used once.** Its id is new for each upload and is never used again, so the bytes of a file that is
 *   complete never change, whatever is put later under the same key.
 * - **What arrives at a place is kept apart.** Each request that brings bytes has a name of its own there, and no other
 *   changes what is under it. Which of them is the file is decided by the row, which has that name from then on.
 * - **What was complete survives a power failure.** The hub records a file only after the driver has confirmed it.
 * - **No place is outside its tenant.** Whatever a driver makes of it begins with the tenant and the folder.
 *
 * Storage that cannot be read or written is FILES_UNAVAILABLE; one that is full is STORAGE_FULL, and nothing of the
 * upload that met it is left. Why: ADR 0041.
 */
export type Objects = {
  /** Throws what is wrong if files cannot be stored and removed at present. */
  check(): Promise<void>;
  /** Whether a file of this size is there: a database may be restored without its files, or files may be lost. */
  has(place: ObjectPlace, size: number): Promise<boolean>;
  /** Removes what a place has, complete or not. A place that has nothing is not an error. */
  remove(place: ObjectPlace): Promise<void>;
  /** Removes what a place has beside its file. What is still arriving there stays. */
  tidy(place: ObjectPlace): Promise<void>;
  /** Ends what is still arriving, and releases resources. */
  close(): Promise<void>;
} & (HubServed | StoreServed);

/** Where the bytes of one upload, and then of one file, are. */
export type ObjectPlace = {
  id: string;
  tenantId: string;
  folderId: string;
  objectKey: string;
  /** The store's own name for an upload in parts, as `uploadUrls` has returned it. */
  storeUpload: string | null;
  /** The name of the bytes at the place; null while they arrive, and for a file of version 0.1, which was alone there. */
  storedAs: string | null;
};

/** Bytes go through the hub: it signs URLs of its own, and passes on what they bring and ask for. */
export type HubServed = {
  servedBy: "hub";
  /** How many bytes of an upload have arrived and can be continued. */
  arrivedBytes(place: ObjectPlace): Promise<number>;
  /**
   * Takes bytes from `offset` on. Offset 0 begins again; any other must be what has arrived, or UPLOAD_OFFSET says
   * where to continue. Bytes that have arrived before a connection breaks stay. A sender that continues has given up its
   * earlier connections, so they end; one that begins again may do so beside one other. The hash is null as long as bytes
   * are missing. Bytes with another hash than announced are CHECKSUM_MISMATCH, and nothing of them stays.
   */
  receive(place: ObjectPlace, upload: ArrivingBytes): Promise<ReceivedBytes>;
  /** Yields exactly the bytes from `start` to before `end`; fails if there are fewer. */
  read(place: ObjectPlace, range: { start: number; end: number }): AsyncGenerator<Buffer>;
};

export type ReceivedBytes = { storedAs: string; size: number; sha256: string | null };

export type ArrivingBytes = {
  offset: number;
  total: number;
  /** Null if the sender has not announced it. */
  sha256: string | null;
  /** Called once. The bytes end with an error when the signal is aborted, even while the sender is silent. */
  bytes: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
};

/** Callers send bytes to the store itself and get them there, by URLs that the driver signs. */
export type StoreServed = {
  servedBy: "store";
  /** Where to put a file of this size and hash. */
  uploadUrls(place: ObjectPlace, upload: SignedUpload): Promise<UploadUrls>;
  /**
   * Checks that exactly these bytes were put, and moves them to where no URL that was given out can change them.
   * CHECKSUM_MISMATCH if they are others, NOT_FOUND if there are none. Returns the name of the bytes at the place.
   */
  complete(place: ObjectPlace, upload: PutUpload): Promise<string>;
  /** Removes the parts of `storeUpload` that will not be joined. */
  giveUpParts(place: ObjectPlace): Promise<void>;
  /** As a download; with a type, as a picture. */
  downloadUrl(
    place: ObjectPlace,
    options: { expiresInSec: number; imageType?: string | undefined },
  ): Promise<string>;
  /** Where such URLs lead: scheme, host and port. */
  origin: string;
};

export type SignedUpload = { size: number; sha256: string; expiresInSec: number };
export type PutUpload = { size: number; sha256: string; parts: { number: number; etag: string }[] };
export type UploadUrls = {
  url: string;
  headers: Record<string, string>;
  /** One with an `etag` has arrived already, and is listed with it when the upload is completed. */
  parts?: { number: number; offset: number; size: number; url: string; etag?: string }[];
  /** To be part of the place from now on. */
  storeUpload?: string;
};
