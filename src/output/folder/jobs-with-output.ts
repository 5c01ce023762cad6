import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { jobOutputDir } from "./output-path.ts";

/** About 5 MB of names. A home with more outputs than this is looked at on disk each time. */
const jobsMax = 50_000;

/**
 * Which jobs may have a folder of output. Most functions write nothing, and the receipt of each is compared with its output:
 * a look at the disk for each takes longer than the rest of that check. A folder is listed once, and every append is noted
 * before it makes one; this process is the only one that writes here. Why: ADR 0124.
 */
export class JobsWithOutput {
  readonly #root: string;
  readonly #jobs = new Set<string>();
  readonly #listed = new Set<string>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Call it before the folder of the job is made. */
  note(jobId: string): void {
    if (this.#jobs.size <= jobsMax) this.#jobs.add(jobId);
  }

  /** False only if the job has no folder. */
  mayHave(jobId: string): boolean {
    const dir = jobOutputDir(this.#root, jobId);
    if (this.#jobs.size <= jobsMax) this.#list(dirname(dir));
    return this.#jobs.size > jobsMax ? existsSync(dir) : this.#jobs.has(jobId);
  }

  #list(folder: string): void {
    if (this.#listed.has(folder)) return;
    for (const name of namesIn(folder)) this.#jobs.add(name);
    this.#listed.add(folder);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
