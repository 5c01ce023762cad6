import type { HubDeps } from "../../deps.ts";

type Deps = Pick<HubDeps, "store" | "outputs" | "logger" | "failures">;

/** Retention deletes 500 jobs in one act and then removes their folders, so a kill in between leaves at most 500. */
const straysMax = 1_000;
/** Each folder may contain gigabytes, and other calls wait for the disk too. */
const removedPerTurn = 50;

/**
 * Folders of outputs that belong to no job: the hub was killed, or lost power, after it had deleted the jobs and before
 * their folders were removed.
 *
 * A job's row is written when it is submitted, and its folder is created by its first chunk, which only an attempt of a
 * stored job may send. So a folder that was listed before the query for its row, which then found none, belongs to a
 * deleted job, never to a new one.
 */
export class StrayOutputs {
  readonly #deps: Deps;
  #strays: string[] = [];
  #knownCount = 0;
  #strayCount = 0;
  #isJudged = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Sorts folders that were listed before the query; `known` has the jobs that the store knows. */
  sort(listed: string[], known: ReadonlySet<string>): void {
    const strays = listed.filter((jobId) => !known.has(jobId));
    this.#knownCount += listed.length - strays.length;
    this.#strayCount += strays.length;
    if (this.#strayCount <= straysMax) this.#strays.push(...strays);
  }

  /**
   * Removes some strays, once every folder has been sorted. Each is tried once; failures are found again after the next
   * start.
   */
  async removeSome(signal: AbortSignal): Promise<void> {
    if (!this.#isJudged) this.#judge();
    const turn = this.#strays.splice(0, removedPerTurn);
    if (turn.length === 0) return;
    // Checked again, because the list is minutes old, and a producer may use an id again.
    const notes = await this.#deps.store.getOutputNotes({ jobIds: turn });
    const known = new Set(notes.map(({ jobId }) => jobId));
    const removed: string[] = [];
    for (const jobId of turn) {
      if (signal.aborted) break;
      if (!known.has(jobId) && (await this.#remove(jobId))) removed.push(jobId);
    }
    if (removed.length > 0)
      this.#deps.logger.info({ job_ids: removed }, "outputs of deleted jobs were removed");
  }

  /**
   * With the wrong database nearly every folder is a stray, and removing them would destroy what the right database
   * knows. A kill leaves few among many.
   */
  #judge(): void {
    this.#isJudged = true;
    if (this.#strayCount <= straysMax && this.#strayCount <= this.#knownCount) return;
    const facts = { unknown: this.#strayCount, known: this.#knownCount };
    this.#strays = [];
    this.#deps.logger.warn(
      facts,
      "outputs/ contains many folders of jobs that the database does not know; they are kept: is it the right database?",
    );
  }

  async #remove(jobId: string): Promise<boolean> {
    const { outputs, failures } = this.#deps;
    try {
      await outputs.appended.remove(jobId);
      return true;
    } catch (error) {
      failures.error(error, "the output of a deleted job could not be removed", { job_id: jobId });
      return false;
    }
  }
}
