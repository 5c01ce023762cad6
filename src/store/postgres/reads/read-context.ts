import type { DatabaseInUse } from "../../database/database-in-use.ts";

/** What reads need beside a connection. Why: ADR 0080. */
export type ReadContext = { macKey: Buffer; inUse: DatabaseInUse };
