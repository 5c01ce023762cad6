import { WritError } from "../../core/errors.ts";
import type { HubSettings } from "../settings/settings.ts";

/** Refuses an incomplete channel at the start; otherwise the first alert would reveal it. */
export function checkAlertSettings(settings: HubSettings): void {
  const { telegramBotToken, telegramChatId, smtpUrl, alertFrom, alertTo, webhookUrl, webhookSecret } =
    settings;
  checkChannel({ WRIT_TELEGRAM_BOT_TOKEN: telegramBotToken, WRIT_TELEGRAM_CHAT_ID: telegramChatId });
  checkChannel({ WRIT_SMTP_URL: smtpUrl, WRIT_ALERT_FROM: alertFrom, WRIT_ALERT_TO: alertTo });
  checkChannel({ WRIT_WEBHOOK_URL: webhookUrl, WRIT_WEBHOOK_SECRET: webhookSecret });
}

function checkChannel(parts: Record<string, string | null>): void {
  const names = Object.keys(parts);
  const missing = names.filter((name) => parts[name] === null);
  if (missing.length === 0 || missing.length === names.length) return;
  const given = names.filter((name) => parts[name] !== null);
  throw new WritError(
    "CONFIG_INVALID",
    `${given.join(" and ")} set without ${missing.join(" and ")}; set both, or no alert is sent`,
    { setting: missing[0]! },
  );
}
