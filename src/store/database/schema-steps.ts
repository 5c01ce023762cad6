import { readdirSync, readFileSync } from "node:fs";
import { WritError } from "../../core/errors.ts";

/** One file of a driver's migrations: it makes the schema of its number out of the one before. */
export type SchemaStep = { version: number; name: string; sql: string };

/**
 * The steps in a folder, oldest first. The first one makes the schema of version 0.1.0 in an empty database.
 * Why: ADR 0078.
 */
export function readSteps(folder: URL): SchemaStep[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const steps = names.sort().map((name) => ({
    version: Number.parseInt(name, 10),
    name: name.replace(/\.sql$/, ""),
    sql: readFileSync(new URL(name, folder), "utf8"),
  }));
  const stray = steps.find(({ version }, index) => version !== steps[0]!.version + index);
  if (stray !== undefined) throw new Error(`migrations must be numbered without a gap; found ${stray.name}`);
  return steps;
}

export function newestSchema(steps: readonly SchemaStep[]): number {
  return steps.at(-1)!.version;
}

/** The steps that a database of this schema still needs; 0 is an empty one. Throws if no steps lead from there to ours. */
export function stepsAfter(steps: readonly SchemaStep[], found: number): SchemaStep[] {
  refuseOldSchema(steps[0]!.version, found);
  const newest = newestSchema(steps);
  if (found > newest)
    throw new WritError(
      "STORE_UNAVAILABLE",
      `the database has schema ${found}, but this program knows schemas only up to ${newest}; use the newer program`,
      { advice: "" },
    );
  return steps.filter(({ version }) => version > found);
}

/** Throws if the database was last used by a version before 0.1.0. */
export function refuseOldSchema(oldest: number, found: number): void {
  if (found === 0 || found >= oldest) return;
  throw new WritError(
    "CONFIG_INVALID",
    `the database has schema ${found}, and this program upgrades from schema ${oldest} on, which is version 0.1.0; open it once with version 0.1.0 (commit 7137a49), which upgrades it, then with this one`,
  );
}
