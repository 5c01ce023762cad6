export type GuardCase = {
  url: string;
  allowed?: string[];
  bytesMax?: number;
  idleMs?: number;
  totalMs?: number;
  /** The machine's own addresses. */
  own?: string[];
  /** Those that it has only from the second time on that it is asked. */
  ownLater?: string[];
  /** A POST instead of a download. */
  posts?: boolean;
};

export type GuardResult = {
  /** `fetched`, the status that answered a POST, or the problem and its message. */
  outcome: string;
  bytes: number;
  /** Connections to any address but the public ones. */
  canaries: number;
  /** What the name server was asked, in order. */
  questions: string[];
  /** The headers of each request that the web server was sent. */
  heads: string[][];
};
