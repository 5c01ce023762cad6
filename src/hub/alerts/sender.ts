import { backOffMs } from "../../runtime/clock/back-off.ts";
import { repeat, type Service } from "../../runtime/service.ts";
import type { OutboxMessage } from "../../store/response-store.ts";
import type { HubDeps } from "../deps.ts";
import { unlessLeadLost } from "../leadership.ts";
import { recordEvent } from "../use-cases/audit/record-event.ts";
import { type Channel, type SendError, trySend } from "./channel.ts";

const roundMs = 1_000;
/** The most messages that wait for a channel that is down. */
export const waitingMax = 1_000;
const retryPause = { firstMs: 2_000, maxMs: 600_000 };
/** After this time a message is out of date, and would only delay newer ones. */
const givenUpMs = 24 * 3_600_000;

/** Sends the messages in the outbox, each channel by itself and in order. Jobs never wait for any of this. */
export function createSender(deps: HubDeps, channels: readonly Channel[]): Service[] {
  return channels.map((channel) => {
    const onError = unlessLeadLost((error) =>
      deps.failures.error(error, "the outbox could not be read", { channel: channel.name }),
    );
    return repeat(
      { name: `sender ${channel.name}`, intervalMs: roundMs, clock: deps.clock, onError },
      async (signal) => {
        while (!signal.aborted && (await sendNext(deps, channel, signal)));
      },
    );
  });
}

/** Resolves with false if no message is due. */
async function sendNext(deps: HubDeps, channel: Channel, stopping: AbortSignal): Promise<boolean> {
  const message = await deps.store.nextMessage({ channel: channel.name });
  if (message === null || message.dueAt > deps.clock.nowMs()) return false;
  const failure = await trySend(channel, message, stopping);
  if (failure === null) {
    deps.metrics.alerts.inc({ channel: channel.name, outcome: "sent" });
    await deps.store.finishMessage({ id: message.id, retryAt: null });
    return true;
  }
  if (stopping.aborted) return false;
  deps.metrics.alerts.inc({ channel: channel.name, outcome: "failed" });
  return handleFailure(deps, message, failure);
}

async function handleFailure(deps: HubDeps, message: OutboxMessage, failure: SendError): Promise<boolean> {
  const { id, channel, tries, subject } = message;
  const nowMs = deps.clock.nowMs();
  if (nowMs - message.createdAt < givenUpMs) {
    const pauseMs = Math.max(backOffMs(tries, retryPause), failure.retryAfterMs ?? 0);
    await deps.store.finishMessage({ id, retryAt: nowMs + pauseMs });
    deps.logger.warn(
      { channel, tries: tries + 1, why: failure.message },
      "an alert could not be delivered; it will be tried again",
    );
    return false;
  }
  await deps.store.finishMessage({ id, retryAt: null });
  const details = { channel, subject, tries: tries + 1, error: failure.message };
  await recordEvent(deps, { event: "ALERT_FAILED", origin: null, details });
  return true;
}
