import { createHmac } from "node:crypto";
import type { LoggedEvent } from "../../core/events.ts";
import { liveEvent } from "../views/event-view.ts";

type WebhookMessage = { headers: Record<string, string>; body: Buffer };

type Signing = { webhookId: string; keys: readonly Buffer[]; nowMs: number };

/**
 * A message as Standard Webhooks has it. Its data are those of the live stream, with the number of the event: never params, an
 * environment, a result or output. The id is the same whenever the same event is sent to the same webhook. Why: ADR 0142.
 */
export function webhookMessage(event: LoggedEvent, { webhookId, keys, nowMs }: Signing): WebhookMessage {
  const { name, data } = liveEvent(event);
  const timestamp = new Date(event.ts).toISOString();
  const text = JSON.stringify({ type: name, timestamp, data: { ...data, seq: event.seq } });
  // After a backup was restored, another event may have the same number.
  const id = `msg_${webhookId}_${event.seq}_${event.ts.toString(36)}`;
  const sentAt = Math.floor(nowMs / 1_000);
  const signatures = keys.map((key) => `v1,${signatureOf(key, `${id}.${sentAt}.${text}`)}`);
  return {
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(sentAt),
      "webhook-signature": signatures.join(" "),
    },
    body: Buffer.from(text),
  };
}

function signatureOf(key: Buffer, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64");
}
