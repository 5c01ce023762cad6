import { refuseOldSchema } from "../../database/schema-steps.ts";

/** The schemas of files that keep a row for each job: that of version 0.1.0, and the last before files of frames. Why: ADR 0121. */
const oldest = 25;
export const newestOfRows = 28;

/** Throws if the file was last used by a version before 0.1.0. */
export function refuseOldRows(schema: number): void {
  refuseOldSchema(oldest, schema);
}
