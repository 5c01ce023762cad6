import { readFileSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dirname, "times.json");
/** A file that is not in the list is new or quick. */
const otherwiseSec = 1;

const times = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;

/** How long a test file took in a project when `npm test -- --save-times` last ran, in seconds. */
export function expectedSec({ project, path }: { project: string; path: string }): number {
  return times[nameOfRun({ project, path })] ?? otherwiseSec;
}

/** A file runs once more, on PostgreSQL, under the name of another project. */
export function nameOfRun({ project, path }: { project: string; path: string }): string {
  return `${project}: ${path}`;
}
