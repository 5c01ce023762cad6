/** Whether the hub can send commands: not yet, but right after a registration, is "opening". */
type CommandStream = "opening" | "open" | "none";

/**
 * Decides whether this worker claims, and which jobs. Each part of a worker sets its condition here; the claim loop
 * reads them, and is woken when there may be more to claim than before.
 */
export class ClaimGate {
  #isRegistered = false;
  #stream: CommandStream = "none";
  #isToldToDrain = false;
  #isInTrouble = false;
  #sandboxProblem: string | null = null;
  #onlyTypes: readonly string[] | undefined;
  #onOpened: () => void = () => {};

  /** Whether anything may be claimed at present. */
  get isOpen(): boolean {
    return this.#isRegistered && !this.#isPaused && this.#onlyTypes?.length !== 0;
  }

  get stream(): CommandStream {
    return this.#stream;
  }

  /** An administrator's drain: running jobs continue, nothing new starts, and it can be ended again. */
  get isToldToDrain(): boolean {
    return this.#isToldToDrain;
  }

  /** Whether this machine has a fault that is not a job's. */
  get isInTrouble(): boolean {
    return this.#isInTrouble;
  }

  /** Why no process can be caged here at present. */
  get sandboxProblem(): string | null {
    return this.#sandboxProblem;
  }

  /** The only types that are claimed; undefined means all, and an empty list none. */
  get onlyTypes(): readonly string[] | undefined {
    return this.#onlyTypes;
  }

  /** Called when there may be more to claim than before. */
  onOpened(listener: () => void): void {
    this.#onOpened = listener;
  }

  setRegistered(isRegistered: boolean): void {
    this.#isRegistered = isRegistered;
    if (!isRegistered) return;
    // The stream is opened right after the registration, so it is too early for a long poll.
    if (this.#stream === "none") this.#stream = "opening";
    this.#onOpened();
  }

  /**
   * With a stream, the hub announces jobs; the next claim tells it that the worker has one. A waiting long poll
   * continues, because closing it could lose jobs in its answer.
   */
  setStream(isOpen: boolean): void {
    this.#stream = isOpen ? "open" : "none";
    this.#onOpened();
  }

  /** Called when the stream should be open and is not: claims no longer wait for it. */
  giveUpStream(): void {
    this.#stream = "none";
  }

  setToldToDrain(isTold: boolean): void {
    this.#isToldToDrain = isTold;
    if (!this.#isPaused) this.#onOpened();
  }

  setInTrouble(isInTrouble: boolean): void {
    this.#isInTrouble = isInTrouble;
    if (!this.#isPaused) this.#onOpened();
  }

  setSandboxProblem(problem: string | null): void {
    this.#sandboxProblem = problem;
  }

  claimOnly(types: readonly string[] | undefined): void {
    this.#onlyTypes = types;
    this.#onOpened();
  }

  get #isPaused(): boolean {
    return this.#isToldToDrain || this.#isInTrouble;
  }
}
