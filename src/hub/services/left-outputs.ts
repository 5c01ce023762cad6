import type { HubDeps } from "../deps.ts";

type Left = { jobId: string; remove: () => Promise<void> };

/** After this many failures the storage counts as failing. */
const failuresMax = 10;

/**
 * Outputs that the store no longer lists and that still exist. One that cannot be removed must not block the others: it
 * stays here until the next try. Outputs that are here when the hub stops are found and removed after the next start.
 */
export class LeftOutputs {
  readonly #failures: HubDeps["failures"];
  #left: Left[] = [];

  constructor({ failures }: Pick<HubDeps, "failures">) {
    this.#failures = failures;
  }

  /** While it is true, the store should drop no more outputs, because that frees no space. */
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
