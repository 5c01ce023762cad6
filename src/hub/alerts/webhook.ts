import { createHmac } from "node:crypto";
import type { Clock } from "../../runtime/clock/clock.ts";
import { type Channel, SendError, withoutAddress } from "./channel.ts";

type WebhookSettings = { url: string; secret: string };

/**
 * A POST with a JSON body. `Writ-Signature` is the HMAC-SHA256, in hex, of the timestamp, a dot and the body, so that a
 * receiver can refuse forged or old messages. `Writ-Delivery` is the same if a message is delivered twice.
 */
export function webhookChannel({ url, secret }: WebhookSettings, clock: Clock): Channel {
  return {
    name: "webhook",
    async send({ id, subject, body, data, createdAt }, signal) {
      const text = JSON.stringify({ id, subject, text: body, created_at: createdAt, ...JSON.parse(data) });
      const timestamp = String(Math.floor(clock.nowMs() / 1000));
      const signature = createHmac("sha256", secret).update(`${timestamp}.${text}`).digest("hex");
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "Writ-Delivery": String(id),
          "Writ-Timestamp": timestamp,
          "Writ-Signature": `sha256=${signature}`,
        },
        body: text,
        redirect: "error",
        signal,
      }).catch((error: unknown) => {
        throw withoutAddress("The webhook", error);
      });
      await response.body?.cancel();
      if (!response.ok) throw new SendError(`the webhook answered with status ${response.status}`);
    },
  };
}
