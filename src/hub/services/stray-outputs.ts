import type { HubDeps } from "../deps.ts";

type Deps = Pick<HubDeps, "store" | "outputs" | "logger">;

/** Retention forgets 500 jobs in one act and then removes their folders; so many are left when it is killed between. */
const straysMax = 1_000;
/** Each may hold gigabytes, and others wait for the disk too. */
const removedPerTurn = 50;

/**
 * Folders of outputs that belong to no job: the hub was killed, or lost power, after it had forgotten the jobs and
 * before their folders were gone for good.
 *
 * A job's row is written when it is submitted, and its folder is made by its first chunk, which only an attempt of a
 * stored job may send. So whoever first sees a folder and then asks for its row, and finds none, sees one whose row has
 * gone, never one whose row is still to come.
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

  /** Of these folders, which were listed before the store was asked, it knows these jobs. */
  sort(listed: string[], known: ReadonlySet<string>): void {
    const strays = listed.filter((jobId) => !known.has(jobId));
    this.#knownCount += listed.length - strays.length;
    this.#strayCount += strays.length;
    if (this.#strayCount <= straysMax) this.#strays.push(...strays);
  }

  /** Removes some, when every folder has been sorted. Each is tried once; what fails is met again after the next start. */
  async removeSome(signal: AbortSignal): Promise<void> {
    if (!this.#isJudged) this.#judge();
    const turn = this.#strays.splice(0, removedPerTurn);
    if (turn.length === 0) return;
    // Asked again, because the listing is minutes old and a producer may choose an id that was used before.
    const notes = await this.#deps.store.getOutputNotes({ jobIds: turn });
    const known = new Set(notes.map(({ jobId }) => jobId));
    const removed: string[] = [];
    for (const jobId of turn) {
      if (signal.aborted) break;
      if (!known.has(jobId) && (await this.#remove(jobId))) removed.push(jobId);
    }
    if (removed.length > 0)
      this.#deps.logger.info({ job_ids: removed }, "outputs of jobs that are gone were removed");
  }

  /**
   * With the wrong database nearly every folder is a stray, and to remove them would destroy what the right one knows.
   * A kill leaves few beside many.
   */
  #judge(): void {
    this.#isJudged = true;
    if (this.#strayCount <= straysMax && this.#strayCount <= this.#knownCount) return;
    const facts = { unknown: this.#strayCount, known: this.#knownCount };
    this.#strays = [];
    this.#deps.logger.warn(
      facts,
      "outputs/ holds many folders of jobs that the database does not know; they are left alone: is it the right database?",
    );
  }

  async #remove(jobId: string): Promise<boolean> {
    const { outputs, logger } = this.#deps;
    try {
      await outputs.remove(jobId);
      return true;
    } catch (error) {
      logger.error({ err: error, job_id: jobId }, "the output of a job that is gone could not be removed");
      return false;
    }
  }
}
