import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { NewMessage } from "../../store/response-store.ts";
import type { HubDeps } from "../deps.ts";
import { type Channel, trySend } from "./channel.ts";
import { hubName } from "./hub-name.ts";

const triesMax = 5;
const retryPause = { firstMs: 1_000, maxMs: 10_000 };

type AlarmDeps = Pick<HubDeps, "clock" | "logger" | "home"> & {
  settings: Pick<HubDeps["settings"], "publicUrl">;
};

/**
 * Alerts people at once that the database is lost. The outbox is in the database, so this message bypasses it. Why: ADR
 * 0030.
 */
export async function raiseAlarm(
  deps: AlarmDeps,
  channels: readonly Channel[],
  { database, reason, signal }: { database: string; reason: string; signal: AbortSignal },
): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const time = new Date(nowMs).toISOString();
  const event = "STORE_LOST";
  await sendAtOnce(deps, channels, signal, {
    subject: `[CRITICAL] ${event}`,
    body: [
      `time: ${time}`,
      `database: ${database}`,
      `reason: ${reason}`,
      `hub: ${hubName(deps)}`,
      "",
      "The database was removed or replaced under the running hub. Every call is refused. Put the right one back, or stop the hub and restore a backup.",
    ].join("\n"),
    data: JSON.stringify({ level: "CRITICAL", event, count: 1, ts: nowMs, hub: hubName(deps) }),
  });
}

/** Sends a message by every channel, bypassing the outbox for when it cannot be written. Resolves after a few tries. */
export async function sendAtOnce(
  deps: AlarmDeps,
  channels: readonly Channel[],
  signal: AbortSignal,
  text: Omit<NewMessage, "channel">,
): Promise<void> {
  const nowMs = deps.clock.nowMs();
  const message = { ...text, id: nowMs, createdAt: nowMs, dueAt: nowMs, tries: 0 };
  await Promise.all(
    channels.map((channel) => sendOften(deps, channel, { ...message, channel: channel.name }, signal)),
  );
}

async function sendOften(
  { clock, logger }: AlarmDeps,
  channel: Channel,
  message: Parameters<Channel["send"]>[0],
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 0; tries < triesMax && !signal.aborted; tries++) {
    const failure = await trySend(channel, message, signal);
    if (failure === null) return;
    logger.error(
      { channel: channel.name, tries: tries + 1, why: failure.message },
      "the alarm could not be delivered",
    );
    // A stop ends the pause; the loop's condition ends the rest.
    await clock.sleep(backOffMs(tries, retryPause), signal).catch(() => {});
  }
}
