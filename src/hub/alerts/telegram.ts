import { type Channel, SendError, withoutAddress } from "./channel.ts";

type TelegramSettings = { botToken: string; chatId: string; apiUrl: string };

/** The limit of the bot API for one message. */
const textCharsMax = 4_096;

/** https://core.telegram.org/bots/api#sendmessage */
export function telegramChannel({ botToken, chatId, apiUrl }: TelegramSettings): Channel {
  const url = `${apiUrl.replace(/\/+$/, "")}/bot${botToken}/sendMessage`;
  return {
    name: "telegram",
    async send({ subject, body }, signal) {
      const text = `${subject}\n${body}`.slice(0, textCharsMax);
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ chat_id: chatId, text, disable_web_page_preview: true }),
        redirect: "error",
        signal,
      }).catch((error: unknown) => {
        throw withoutAddress("Telegram", error);
      });
      // Without a JSON body, the status is all that is known.
      const answer = (await response.json().catch(() => null)) as TelegramAnswer | null;
      if (response.ok && answer?.ok === true) return;
      const retryAfterSec = answer?.parameters?.retry_after;
      throw new SendError(
        `Telegram answered ${response.status}`,
        typeof retryAfterSec === "number" ? retryAfterSec * 1000 : null,
      );
    },
  };
}

type TelegramAnswer = { ok?: boolean; parameters?: { retry_after?: number } };
