import { type AllowedHost, parseAllowedHost } from "../../runtime/guarded-fetch/allowed-host.ts";
import type { UrlPurpose } from "../../runtime/guarded-fetch/check-url.ts";
import type { HubSettings } from "../settings/settings.ts";

export const webhookPurpose: UrlPurpose = {
  verb: "called",
  operator: "the hub's operator",
  setting: "WRIT_WEBHOOK_HOSTS",
};

/** The hosts that webhooks may call beside the public ones. */
export function allowedHosts({ webhookHosts }: Pick<HubSettings, "webhookHosts">): AllowedHost[] {
  return (webhookHosts ?? "").split(",").flatMap((text) => parseAllowedHost(text.trim()) ?? []);
}
