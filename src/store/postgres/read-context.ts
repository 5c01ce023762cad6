import type { DatabaseInUse } from "../database-in-use.ts";

/** What reads need beside a connection. */
export type ReadContext = { macKey: Buffer; inUse: DatabaseInUse };
