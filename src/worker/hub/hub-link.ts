import type { KeysView } from "../../contract/shapes/trust-view-shapes.ts";
import { hasCode, WritError } from "../../core/errors.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import { parseSse, type SseEvent } from "../../runtime/http/sse.ts";
import type { Logger } from "../../runtime/log/logger.ts";
import type { Service } from "../../runtime/service.ts";
import type { ClaimGate } from "../claims/claim-gate.ts";
import type { HubCalls, Registration } from "./hub-calls.ts";
import { hubPauseMs, mayComeBack, type RetryDeps } from "./hub-presence.ts";
import type { TrustedKeys } from "./trusted-keys.ts";

type HubLinkDeps = RetryDeps & {
  calls: Pick<HubCalls, "listKeys" | "register" | "openCommands" | "removeWorker">;
  logger: Logger;
  keys: TrustedKeys;
  gate: ClaimGate;
  registration(): Omit<Registration, "key_ids">;
  /** Called when the hub no longer accepts the token: this worker must stop. */
  onRefused(error: WritError): void;
  /** Called when no key of the hub is trusted any more: the hub then gives this worker no jobs. */
  onKeysLost(): void;
  onCommand(command: string, data: Record<string, unknown>): void;
};

/** The most key ids of a registration; the newest are last. */
const keyIdsMax = 16;
const goodbyeMs = 2_000;
/**
 * After this many refusals the token counts as revoked. One wrong answer, while a hub is being replaced, must not end
 * every job.
 */
const refusalsMax = 3;
const refusalPauseMs = 1_000;
/**
 * A blocked worker connects less and less often, up to once a minute. Its claims notice sooner that it was unblocked.
 */
const blockedBackOff = { firstMs: 1_000, maxMs: 60_000 };
/** A reachable hub answers sooner; behind a firewall that drops packets, the call would be silent until its timeout. */
const slowMs = 3_000;

/**
 * The worker's link to the hub: the trusted keys, the registration, and the command stream. It reconnects for ever, and
 * registers each time, because the hub may have been replaced in between. During a drain it registers only with a hub
 * that does not know it, and otherwise when the drain is over.
 */
export class HubLink implements Service {
  readonly name = "hub link";
  readonly #deps: HubLinkDeps;
  readonly #stopping = new AbortController();
  #reconnect = new AbortController();
  #isConnected = false;
  /** Whether the hub has this worker's registration, as far as is known. */
  #isKnown = false;
  /** Whether a registration was postponed because of a drain. */
  #isDue = false;
  #over: Promise<void> = Promise.resolve();

  constructor(deps: HubLinkDeps) {
    this.#deps = deps;
  }

  /** Rejects if the hub refuses this worker. A hub that is away is waited for. */
  async start(): Promise<void> {
    const { clock, logger, presence } = this.#deps;
    const slow = clock.setTimer(() => logger.warn("the hub has not answered yet; still trying"), slowMs);
    try {
      await this.#connect();
    } catch (error) {
      if (isTokenRefused(error)) throw this.#tokenRefused();
      if (!mayComeBack(error)) throw error;
      presence.away(error);
    } finally {
      slow.cancel();
    }
    this.#over = this.#run();
  }

  /** Deregisters at the end. A hub that cannot be reached notices later that the worker is silent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#reconnect.abort();
    await this.#over;
    // See above.
    await this.#deps.calls.removeWorker(AbortSignal.timeout(goodbyeMs)).catch(() => {});
  }

  /** Called when the hub no longer knows the worker: connects again. */
  renew(): void {
    this.#reconnect.abort();
  }

  /**
   * Registers again because the worker can run other jobs than before. If the hub cannot be reached, the next
   * connection does it.
   */
  async registerAgain(): Promise<void> {
    const { signal } = this.#stopping;
    if (!this.#isConnected || signal.aborted) return;
    await this.#register(signal).catch((error: unknown) =>
      this.#reconnectAfter(error, "the hub could not be told what can be run"),
    );
  }

  /** Reads the hub's new keys, and tells the hub which of them this worker trusts. */
  async refreshKeys(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      if ((await this.#learnKeys(signal)) || this.#isDue) await this.#register(signal);
    } catch (error) {
      this.#reconnectAfter(error, "the hub's keys could not be checked");
    }
  }

  /**
   * Makes up for a failed call. The command stream may still be open, so it is closed: the next connection reads the
   * keys and registers, and retries until both succeed.
   */
  #reconnectAfter(error: unknown, what: string): void {
    if (this.#stopping.signal.aborted) return;
    this.#deps.logger.warn({ err: error }, what);
    if (mayComeBack(error)) this.renew();
  }

  async #run(): Promise<void> {
    const { clock, random, gate, presence, onRefused } = this.#deps;
    let failures = 0;
    let refusals = 0;
    let blocks = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        if (!this.#isConnected) await this.#connect();
        await this.#followCommands(() => {
          failures = 0;
          refusals = 0;
          blocks = 0;
        });
      } catch (error) {
        if (isTokenRefused(error)) {
          presence.refused();
          refusals++;
        } else this.#notice(error);
        if (hasCode(error, "WORKER_UNKNOWN")) this.#isKnown = false;
        if (hasCode(error, "WORKER_BLOCKED")) blocks++;
      }
      this.#isConnected = false;
      gate.setStream(false);
      if (refusals >= refusalsMax) return onRefused(this.#tokenRefused());
      const blockedMs = blocks === 0 ? 0 : backOffMs(blocks - 1, { ...blockedBackOff, random });
      const pauseMs = Math.max(hubPauseMs(failures++, random), refusals > 0 ? refusalPauseMs : 0, blockedMs);
      // A stop ends the pause; the loop's condition ends the rest.
      await clock.sleep(pauseMs, this.#stopping.signal).catch(() => {});
    }
  }

  #tokenRefused(): WritError {
    const { worker_id } = this.#deps.registration();
    return new WritError(
      "UNAUTHENTICATED",
      `the hub does not accept the token of worker ${worker_id}: it was revoked, has expired or is wrong`,
      { advice: `\`writ workers add ${worker_id}\` at the hub makes a file with a new one` },
    );
  }

  async #connect(): Promise<void> {
    const { presence, gate } = this.#deps;
    const { signal } = this.#stopping;
    await this.#learnKeys(signal);
    // A registration would end the drain.
    if (this.#isKnown && gate.isToldToDrain) this.#isDue = true;
    else await this.#register(signal);
    this.#isConnected = true;
    presence.back();
    gate.setRegistered(true);
  }

  /** The hub signs with a key that this worker trusts, so the registration lists the trusted keys. */
  async #register(signal: AbortSignal): Promise<void> {
    const { calls, registration, keys } = this.#deps;
    await calls.register({ ...registration(), key_ids: keys.names().slice(-keyIdsMax) }, signal);
    this.#isKnown = true;
    this.#isDue = false;
  }

  /** Resolves with true if the trusted keys have changed. */
  async #learnKeys(signal: AbortSignal): Promise<boolean> {
    const { calls, keys, logger } = this.#deps;
    const shown = await calls.listKeys(signal);
    if (!keys.hasRoots) this.#pin(shown);
    const isLess = await keys.drop(shown.revocations ?? []);
    if (isLess)
      logger.error(
        { key_ids: keyIds(keys) },
        "a key of the hub was revoked; the remaining keys are still trusted",
      );
    if (keys.trusted().length === 0) this.#deps.onKeysLost();
    if (shown.key_set === undefined) return isLess;
    try {
      const isNew = await keys.take(shown.key_set);
      if (isNew)
        logger.info(
          { version: keys.version, key_ids: keyIds(keys) },
          "the trusted keys of the hub have changed",
        );
      return isNew || isLess;
    } catch (error) {
      if (!(error instanceof WritError)) throw error;
      logger.error(
        { err: error, key_ids: keyIds(keys) },
        "the hub's key set is refused; the trusted keys stay the same",
      );
      return isLess;
    }
  }

  /** Trusts the hub's present keys. Other keys that a hub, or an impostor, shows later are not trusted. */
  #pin({ keys: shown }: KeysView): void {
    const keys = shown.filter(({ status }) => status !== "revoked");
    if (keys.length === 0) throw new WritError("KEY_NOT_TRUSTED", "the hub lists no signing key");
    this.#deps.keys.pin(keys.map(({ public_key }) => public_key));
    this.#deps.logger.info(
      { key_ids: keyIds(this.#deps.keys) },
      "no signing keys were given; the hub's current keys are trusted for as long as this worker runs",
    );
  }

  async #followCommands(onOpen: () => void): Promise<void> {
    this.#reconnect = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, this.#reconnect.signal]);
    const { body } = await this.#deps.calls.openCommands(signal).catch((error) => {
      // A hub that refuses the stream refuses claims for the same reason, and those report it.
      if (!mayComeBack(error)) this.#reconnect.abort();
      throw error;
    });
    onOpen();
    this.#deps.gate.setStream(true);
    for await (const event of parseSse(body)) this.#hear(event);
  }

  #hear({ event, data }: SseEvent): void {
    try {
      const parsed: unknown = data === "" ? {} : JSON.parse(data);
      const isObject = typeof parsed === "object" && parsed !== null;
      this.#deps.onCommand(event, isObject ? (parsed as Record<string, unknown>) : {});
    } catch (error) {
      this.#deps.logger.warn({ err: error, event }, "a command of the hub is not valid");
    }
  }

  #notice(error: unknown): void {
    if (this.#stopping.signal.aborted || this.#reconnect.signal.aborted) return;
    if (mayComeBack(error)) this.#deps.presence.away(error);
    else
      this.#deps.logger.warn({ err: error }, "the command stream is not available; polling for work instead");
  }
}

function isTokenRefused(error: unknown): boolean {
  return hasCode(error, "UNAUTHENTICATED");
}

function keyIds(keys: TrustedKeys): string[] {
  return keys.trusted().map(({ keyId }) => keyId);
}
