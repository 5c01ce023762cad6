import type { HubSettings } from "../settings/settings.ts";
import type { CertificateRequest } from "./ensure-certs.ts";

/** The certificates that a hub with these settings needs. */
export function certificateRequest(
  { publicUrl, host }: HubSettings,
  by: { osUser: string; nowMs: number },
): CertificateRequest {
  const publicHost = publicUrl === null ? null : withoutBrackets(new URL(publicUrl).hostname);
  // An address for all interfaces is not a host name.
  const ownHost = host === "0.0.0.0" || host === "::" ? null : withoutBrackets(host);
  return { ...by, hosts: [publicHost, ownHost].filter((name) => name !== null) };
}

function withoutBrackets(host: string): string {
  return host.replaceAll(/[[\]]/g, "");
}
