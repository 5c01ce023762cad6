/**
 * Objects that the hub writes whole, reads in parts and removes: what it keeps outside of its database for itself. Each has
 * an id that is used once. Storage that cannot be read or written is FILES_UNAVAILABLE or STORAGE_FULL. Why: ADR 0085.
 */
export type Segments = {
  /** Resolves when the object would survive a power failure. */
  put(id: string, bytes: Buffer<ArrayBuffer>): Promise<void>;
  /** Exactly these bytes, which belong to the caller; fails if there are fewer. */
  read(id: string, range: { start: number; end: number }): Promise<Buffer>;
  /** An object that does not exist is not an error. */
  remove(id: string): Promise<void>;
};
