type Use = { signal: AbortSignal; over: Promise<unknown> };

/**
 * The repositories in which agents of this worker work in place. What an agent did in an attempt that is given back or lost
 * is put back, so an attempt that comes to the same repository waits until those that were stopped there are over.
 */
export class Repositories {
  readonly #uses = new Map<string, Set<Use>>();

  /** Does the work of one attempt, which `signal` stops. */
  async use<T>(root: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const uses = this.#uses.get(root) ?? new Set<Use>();
    this.#uses.set(root, uses);
    const stopped = [...uses].filter((other) => other.signal.aborted);
    const working = Promise.all(stopped.map(({ over }) => over)).then(work);
    const use = { signal, over: working.catch(() => {}) };
    uses.add(use);
    try {
      return await working;
    } finally {
      uses.delete(use);
      if (uses.size === 0) this.#uses.delete(root);
    }
  }
}
