import type { DatabaseInUse } from "../../database/database-in-use.ts";

/** What reads need beside a connection. */
export type ReadContext = { macKey: Buffer; inUse: DatabaseInUse };
