import { WritError } from "../../../core/errors.ts";
import { readSchema } from "../../../hub/admin.ts";
import type { Finding } from "./doctor.ts";

/** Whether a hub of this version can use the database of the home as it is; nothing if there is none. */
export async function examineDatabase(call: Parameters<typeof readSchema>[0]): Promise<Finding[]> {
  const finding = (state: Finding["state"], says: string): Finding[] => [{ check: "schema", state, says }];
  try {
    const { schema, newest } = await readSchema(call);
    if (schema === null) return [];
    if (schema > newest)
      return finding(
        "problem",
        `it has schema ${schema}, and this program knows ${newest}; use the newer program`,
      );
    return finding(
      "ok",
      schema === newest
        ? `schema ${schema}`
        : `schema ${schema}; the next start of the hub upgrades it to ${newest}`,
    );
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    return finding("problem", error.message);
  }
}
