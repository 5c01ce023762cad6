/** What broken pages have taken away. It is kept when a connection is given up, which is what such a page leads to. Why: ADR 0029. */
export type Unreadable = {
  /** The numbers of claimable jobs that are passed over until the file is repaired. */
  readonly jobs: Set<number>;
  /** The places of payloads that cannot be read. */
  readonly payloads: Set<number>;
};

export function nothingUnreadable(): Unreadable {
  return { jobs: new Set(), payloads: new Set() };
}
