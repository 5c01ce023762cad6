import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { childCgroups } from "./cgroup-files.ts";
import { JobCgroup } from "./job-cgroup.ts";

/** More attempts of one job than can be ending on one host at the same time. */
const namesMax = 16;

/** The cgroups of jobs, `<delegated root>/writ/jobs/<job id>`. */
export class JobCgroups {
  readonly #jobsDir: string;
  readonly #clock: Clock;

  constructor(jobsDir: string, clock: Clock) {
    this.#jobsDir = jobsDir;
    this.#clock = clock;
  }

  pathOf(jobId: string, number = 1): string {
    return join(this.#jobsDir, number === 1 ? jobId : `${jobId}-${number}`);
  }

  /**
   * Always creates a new one. Another worker on this host may still be ending an earlier attempt of the same job; then
   * the name gets a number.
   */
  create(jobId: string): JobCgroup {
    for (let number = 1; ; number++) {
      const path = this.pathOf(jobId, number);
      try {
        mkdirSync(path);
        return new JobCgroup(path, this.#clock);
      } catch (error) {
        if (!hasCode(error, "EEXIST") || number === namesMax) throw error;
      }
    }
  }

  /**
   * Ends processes of these jobs that an earlier process of this worker has left. Returns the cgroups that could not be
   * removed.
   */
  async sweep(jobIds: readonly string[]): Promise<string[]> {
    if (jobIds.length === 0) return [];
    const mine = new Set(jobIds);
    const paths = childCgroups(this.#jobsDir).filter((path) => mine.has(jobIdOf(path)));
    const gone = await Promise.all(paths.map((path) => new JobCgroup(path, this.#clock).remove()));
    return paths.filter((_, index) => !gone[index]);
  }
}

/** Job ids contain dashes themselves, but end with twelve digits; a number at the end is shorter. */
function jobIdOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/-\d{1,2}$/, "");
}
