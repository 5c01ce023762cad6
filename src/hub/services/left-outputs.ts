import type { HubDeps } from "../deps.ts";

type Left = { jobId: string; remove: () => Promise<void> };

/** From so many on it is the storage that fails, and not one output. */
const failuresMax = 10;

/**
 * Output that the store no longer lists, and that is still there. One that cannot be removed must not keep that of other jobs:
 * it stays in here until it is tried again. What is in here when the hub stops is found and removed after the next start.
 */
export class LeftOutputs {
  readonly #failures: HubDeps["failures"];
  #left: Left[] = [];

  constructor({ failures }: Pick<HubDeps, "failures">) {
    this.#failures = failures;
  }

  /** Then the store should forget no more outputs, because nothing is gained by it. */
  get isStorageFailing(): boolean {
    return this.#left.length >= failuresMax;
  }

  add(left: Left): void {
    this.#left.push(left);
  }

  async removeAll(): Promise<void> {
    const failed: { left: Left; error: unknown }[] = [];
    for (const left of this.#left) {
      try {
        await left.remove();
      } catch (error) {
        failed.push({ left, error });
      }
    }
    this.#left = failed.map(({ left }) => left);
    const [first] = failed;
    if (first === undefined) return;
    this.#failures.error(
      first.error,
      "the output of jobs could not be removed; it is tried again in the next round",
      { job_id: first.left.jobId, count: failed.length },
    );
  }
}
