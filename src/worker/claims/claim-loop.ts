import { codeOf, hasCode, type WritError } from "../../core/errors.ts";
import { withJitter } from "../../runtime/clock/back-off.ts";
import { WakeUp } from "../../runtime/clock/wake-up.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Service } from "../../runtime/service.ts";
import type { HubCalls, ReceivedBatch } from "../hub/hub-calls.ts";
import { mayComeBack, type RetryDeps } from "../hub/hub-presence.ts";
import type { Slots } from "../slots.ts";
import type { ClaimGate } from "./claim-gate.ts";

type ClaimLoopDeps = RetryDeps & {
  calls: Pick<HubCalls, "claim">;
  logger: Logger;
  gate: ClaimGate;
  slots: Slots;
  pollIntervalMs: number;
  receive(batch: ReceivedBatch): Promise<void>;
  /** Called when the hub does not know this worker or refuses its token: it has to register again. */
  onUnknown(): void;
  /** Another process has registered under this worker's name. */
  onReplaced(error: WritError): void;
};

/** How often the worker claims without a hint, because hints can be lost. */
const claimAnywayMs = 30_000;
const longPollMs = claimAnywayMs;
/** A claim that returned sooner did not wait at the hub, and is not repeated at once. */
const waitedMsMin = 1_000;
const streamOpensMs = 2_000;
const troubleMs = 5_000;
/**
 * The hub cuts off a batch that grows too large; then there are more jobs, although the batch has fewer than requested.
 */
const largeBatchBytes = 2 * 1024 ** 2;
const lastClaimMs = 2_000;
/** A hub that knows that the worker stops answers its claim; an older one would keep it waiting. */
const lastPollMs = 500;

/**
 * Claims as many jobs as there is room for, as soon as there may be some: after a hint of the hub, after a full claim,
 * and when a slot becomes free. While a slot is free its claim waits at the hub, which answers with the next job; a
 * worker whose slots are all busy does not wait there, because others may be idle. Every wait has a limit. Why: ADR
 * 0008, ADR 0063.
 */
export class ClaimLoop implements Service {
  readonly name = "claim loop";
  readonly #deps: ClaimLoopDeps;
  readonly #stopping = new AbortController();
  readonly #wakeUp = new WakeUp();
  #claiming: { isLongPoll: boolean; abort: AbortController } | undefined;
  #mayHaveWork = true;
  /** The hub lets this worker's claims wait. */
  #mayWait = true;
  /**
   * Whether the last claim found no hub. The next one does not wait there, so its answer shows at once that the hub is
   * back.
   */
  #wasAway = false;
  #isRecovering = false;
  /** The code of the refusal that was logged last, while it lasts. */
  #refusal: string | undefined;
  #lookedAtMs = 0;
  #over: Promise<void> = Promise.resolve();

  constructor(deps: ClaimLoopDeps) {
    this.#deps = deps;
    deps.gate.onOpened(() => this.wake());
    deps.slots.onChange(() => {
      // A free slot is no reason to call a hub that is away.
      if (!this.#isRecovering) this.#wakeUp.wake();
    });
  }

  async start(): Promise<void> {
    this.#over = this.#run();
  }

  /** Resolves when no claim is in progress any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const claiming = this.#claiming;
    // The answer of a claim in progress may contain jobs, which would otherwise wait until their leases expire.
    const leftMs = claiming?.isLongPoll ? lastPollMs : lastClaimMs;
    const timer = this.#deps.clock.setTimer(() => claiming?.abort.abort(), leftMs);
    await this.#over;
    timer.cancel();
  }

  /** Notes that there may be jobs. */
  wake(): void {
    this.#mayHaveWork = true;
    this.#mayWait = true;
    this.#wakeUp.wake();
  }

  async #run(): Promise<void> {
    const { clock, gate, slots } = this.#deps;
    while (!this.#stopping.signal.aborted) {
      const max = gate.isOpen ? slots.wanted() : 0;
      const lookAgainMs = this.#lookedAtMs + claimAnywayMs - clock.monotonicMs();
      if (max === 0) await this.#rest(claimAnywayMs);
      else if (gate.stream === "open" && this.#mayWait && !this.#wasAway && slots.free > 0)
        await this.#claim(max, longPollMs);
      else if (this.#mayHaveWork || lookAgainMs <= 0) await this.#claim(max, 0);
      else if (gate.stream === "open") await this.#rest(lookAgainMs);
      else if (gate.stream === "opening") await this.#awaitStream();
      else await this.#claim(max, longPollMs);
    }
  }

  async #claim(max: number, waitMs: number): Promise<void> {
    const abort = new AbortController();
    this.#claiming = { isLongPoll: waitMs > 0, abort };
    // Before the call, because a hint that arrives while it is in progress must not be forgotten.
    this.#mayHaveWork = false;
    this.#lookedAtMs = this.#deps.clock.monotonicMs();
    try {
      const batch = await this.#deps.calls.claim({
        max,
        waitMs,
        types: this.#deps.gate.onlyTypes,
        signal: abort.signal,
      });
      this.#wasAway = false;
      this.#deps.presence.back();
      this.#noteRefusal(undefined);
      if (waitMs > 0) this.#mayWait = batch !== null || this.#hasWaited();
      if (batch === null) return;
      if (batch.jobs.length >= max || bytesOf(batch) > largeBatchBytes) this.#mayHaveWork = true;
      await this.#deps.receive(batch);
    } catch (error) {
      if (!abort.signal.aborted) await this.#recover(error);
    } finally {
      this.#claiming = undefined;
    }
  }

  #hasWaited(): boolean {
    return this.#deps.clock.monotonicMs() - this.#lookedAtMs >= waitedMsMin;
  }

  async #awaitStream(): Promise<void> {
    const wasWoken = await this.#rest(streamOpensMs);
    if (!wasWoken) this.#deps.gate.giveUpStream();
  }

  async #recover(error: unknown): Promise<void> {
    this.#mayHaveWork = true;
    if (hasCode(error, "WORKER_UNKNOWN", "UNAUTHENTICATED")) {
      this.#deps.gate.setRegistered(false);
      this.#deps.onUnknown();
    } else if (hasCode(error, "WORKER_REPLACED")) {
      this.#deps.gate.setRegistered(false);
      this.#deps.onReplaced(error as WritError);
    } else if (mayComeBack(error)) {
      this.#wasAway = true;
      this.#deps.presence.away(error);
    } else this.#noteRefusal(error);
    const { pollIntervalMs, random } = this.#deps;
    this.#isRecovering = true;
    // Hints that arrived while the claim failed do not concern the next one.
    this.#wakeUp.clear();
    await this.#rest(withJitter(Math.max(pollIntervalMs, troubleMsOf(error)), random));
    this.#isRecovering = false;
  }

  /** A blocked worker claims again until it is accepted. Its log says so once. */
  #noteRefusal(error: unknown): void {
    const refusal = error === undefined ? undefined : codeOf(error);
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    const { logger } = this.#deps;
    if (error === undefined) logger.info("the hub accepts this worker's claims again");
    else
      logger.error(
        { err: error },
        "the hub refuses this worker's claims; asking again until it accepts them",
      );
  }

  /** Waits until something may have changed since the last claim, with a limit. Returns true if something has. */
  #rest(ms: number): Promise<boolean> {
    return this.#wakeUp.wait({ signal: this.#stopping.signal, timeout: { clock: this.#deps.clock, ms } });
  }
}

/** After a refusal it waits longer than after a failure. */
function troubleMsOf(error: unknown): number {
  return mayComeBack(error) ? 0 : troubleMs;
}

function bytesOf(batch: ReceivedBatch): number {
  let sum = 0;
  for (const { document } of batch.jobs) sum += document.length;
  return sum;
}
