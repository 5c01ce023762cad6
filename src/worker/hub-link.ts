import { WritError } from "../core/errors.ts";
import type { Logger } from "../runtime/logger.ts";
import { parseSse, type SseEvent } from "../runtime/sse.ts";
import { loadVerifyingKey, type VerifyingKey } from "../signing/ed25519.ts";
import type { HubCalls, Registration } from "./hub-calls.ts";
import { backoffMs, mayComeBack, type RetryDeps } from "./hub-presence.ts";

export type HubLinkDeps = RetryDeps & {
  calls: Pick<HubCalls, "listKeys" | "register" | "openCommands">;
  logger: Logger;
  /** PEM; when empty the hub is asked once, over the authenticated channel. */
  signingKeys: readonly string[];
  registration: Omit<Registration, "key_ids">;
  onRegistered(): void;
  /** True when commands can be heard. */
  onStream(isOpen: boolean): void;
  onCommand(command: string, data: Record<string, unknown>): void;
};

/**
 * The worker's standing with the hub: whose signatures it trusts, its registration, and the stream of commands. It
 * connects again for ever, and registers anew each time, because the hub may have been replaced in between.
 */
export class HubLink {
  readonly #deps: HubLinkDeps;
  readonly #stopping = new AbortController();
  #trusted: VerifyingKey[];
  #reconnect = new AbortController();
  #isConnected = false;
  #over: Promise<void> = Promise.resolve();

  constructor(deps: HubLinkDeps) {
    this.#deps = deps;
    this.#trusted = deps.signingKeys.map(loadVerifyingKey);
  }

  trusted(): VerifyingKey[] {
    return this.#trusted;
  }

  /** Rejects when the hub answers that it will not have this worker. A hub that is away is waited for. */
  async start(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      if (!mayComeBack(error)) throw error;
      this.#deps.presence.away(error);
    }
    this.#over = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#reconnect.abort();
    await this.#over;
  }

  /** The hub has forgotten the worker: begin again. */
  renew(): void {
    this.#reconnect.abort();
  }

  async #run(): Promise<void> {
    const { clock, random, onStream } = this.#deps;
    let failures = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        if (!this.#isConnected) await this.#connect();
        await this.#followCommands(() => {
          failures = 0;
        });
      } catch (error) {
        this.#notice(error);
      }
      this.#isConnected = false;
      onStream(false);
      await clock.sleep(backoffMs(failures++, random), this.#stopping.signal).catch(() => {});
    }
  }

  async #connect(): Promise<void> {
    const { calls, registration, presence, onRegistered } = this.#deps;
    const { signal } = this.#stopping;
    if (this.#trusted.length === 0) this.#trusted = await this.#fetchKeys(signal);
    const key_ids = this.#trusted.map(({ keyId }) => keyId).slice(0, 16);
    await calls.register({ ...registration, key_ids }, signal);
    this.#isConnected = true;
    presence.back();
    onRegistered();
  }

  /** Pinned from here on: a hub that later shows other keys, or somebody in its place, is not believed. */
  async #fetchKeys(signal: AbortSignal): Promise<VerifyingKey[]> {
    const keys = (await this.#deps.calls.listKeys(signal)).filter(({ status }) => status !== "revoked");
    if (keys.length === 0) throw new WritError("KEY_NOT_TRUSTED", "the hub names no key that signs its jobs");
    const trusted = keys.map(({ public_key }) => loadVerifyingKey(public_key));
    const key_ids = trusted.map(({ keyId }) => keyId);
    this.#deps.logger.info(
      { key_ids },
      "no signing keys were given; these of the hub are trusted until the end",
    );
    return trusted;
  }

  async #followCommands(onOpen: () => void): Promise<void> {
    this.#reconnect = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, this.#reconnect.signal]);
    const { status, body } = await this.#deps.calls.openCommands(this.#deps.registration.session, signal);
    if (status !== 200) {
      this.#reconnect.abort();
      throw new WritError("HTTP_ERROR", `the command stream was answered with status ${status}`, { status });
    }
    onOpen();
    this.#deps.onStream(true);
    for await (const event of parseSse(body)) this.#hear(event);
  }

  #hear({ event, data }: SseEvent): void {
    try {
      const parsed: unknown = data === "" ? {} : JSON.parse(data);
      const isObject = typeof parsed === "object" && parsed !== null;
      this.#deps.onCommand(event, isObject ? (parsed as Record<string, unknown>) : {});
    } catch (error) {
      this.#deps.logger.warn({ err: error, event }, "a command of the hub could not be read");
    }
  }

  #notice(error: unknown): void {
    if (this.#stopping.signal.aborted || this.#reconnect.signal.aborted) return;
    if (mayComeBack(error)) this.#deps.presence.away(error);
    else
      this.#deps.logger.warn({ err: error }, "the command stream is not available; asking for work instead");
  }
}
