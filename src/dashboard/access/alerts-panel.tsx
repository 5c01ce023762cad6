import { useLockdown } from "../hub/lockdown.ts";
import { Icon } from "../parts/icon.tsx";

const channels = [
  { name: "telegram", label: "Telegram", setting: "WRIT_TELEGRAM_BOT_TOKEN" },
  { name: "smtp", label: "Mail", setting: "WRIT_SMTP_URL" },
  { name: "webhook", label: "Webhook, signed", setting: "WRIT_WEBHOOK_URL" },
];

/** The channels that are notified when something serious happens. */
export function AlertsPanel() {
  const data = useLockdown()?.alert_channels;
  const isSet = (name: string) => data?.some((channel) => channel.toLowerCase().includes(name)) ?? false;
  return (
    <section className="panel people">
      <header>
        <h2>Alerts</h2>
        <span className="grow">notified on HIGH-severity events</span>
        {data !== undefined && data.length === 0 ? (
          <span className="state" data-state="assigned">
            <Icon name="warning" />
            none set
          </span>
        ) : null}
      </header>
      <ul>
        {channels.map(({ name, label, setting }) => (
          <li key={name}>
            <span className="avatar" aria-hidden="true">
              <Icon name={isSet(name) ? "active" : "silent"} />
            </span>
            <span>
              <b className="strong">{label}</b>
              <small className="mono">{setting}</small>
            </span>
            <span className="dimmer small-text">{isSet(name) ? "set" : "not set"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
