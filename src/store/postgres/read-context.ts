/** What reads need beside a connection. */
export type ReadContext = { macKey: Buffer };
