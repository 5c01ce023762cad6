import { readSteps, type SchemaStep } from "../../database/schema-steps.ts";

/** How the schema came to be. The numbers begin above all schemas of files of rows. Why: ADR 0116. */
export function sqliteSteps(): SchemaStep[] {
  return readSteps(new URL("./migrations/", import.meta.url));
}
