import type { Clock } from "../runtime/clock/clock.ts";

/** What every transfer needs of the program that makes it. */
export type TransferDeps = {
  /** PEM of the authority that signed the hub's certificate, in addition to those that the system trusts. */
  ca?: string | undefined;
  clock: Clock;
  random: () => number;
  /** A connection on which less than `bytesMin` has moved in `windowMs` is given up. */
  stall?: { windowMs: number; bytesMin: number };
};

/** Lets its holder do one thing with one object, for some minutes. */
export type PresignedUrl = {
  url: string;
  /** Those that have to be sent with it. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** If the store wants the file in several requests. One with an `etag` has arrived already. */
  parts?:
    | readonly { number: number; offset: number; size: number; url: string; etag?: string | undefined }[]
    | undefined;
  /** The address to call when everything was put; the file exists from then on. */
  complete_url?: string | undefined;
};

export type TransferOptions = {
  signal: AbortSignal;
  /** How many bytes have arrived so far. After a broken connection it may be less than before. */
  onProgress?: ((bytes: number) => void) | undefined;
};
