import type { Clock } from "../../runtime/clock/clock.ts";
import type { HubSettings } from "../settings/settings.ts";
import type { Channel } from "./channel.ts";
import { smtpChannel } from "./smtp.ts";
import { telegramChannel } from "./telegram.ts";
import { webhookChannel } from "./webhook.ts";

/** The channels that are configured; `checkAlertSettings` has refused incomplete ones. */
export function openChannels(settings: HubSettings, clock: Clock): Channel[] {
  const { telegramBotToken, telegramChatId, telegramApiUrl, smtpUrl, alertFrom, alertTo } = settings;
  const channels: Channel[] = [];
  if (telegramBotToken !== null && telegramChatId !== null) {
    channels.push(
      telegramChannel({ botToken: telegramBotToken, chatId: telegramChatId, apiUrl: telegramApiUrl }),
    );
  }
  if (smtpUrl !== null && alertFrom !== null && alertTo !== null) {
    channels.push(smtpChannel({ url: smtpUrl, from: alertFrom, to: alertTo }));
  }
  if (settings.webhookUrl !== null && settings.webhookSecret !== null) {
    channels.push(webhookChannel({ url: settings.webhookUrl, secret: settings.webhookSecret }, clock));
  }
  return channels;
}
