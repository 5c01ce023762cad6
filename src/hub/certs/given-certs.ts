import type { X509Certificate } from "node:crypto";
import type { HubSettings } from "../settings/settings.ts";
import { readClientAuthorities } from "./client-authorities.ts";
import { renewBeforeMs } from "./ensure-certs.ts";
import { givenPaths, readGivenPair } from "./hub-tls.ts";
import { parseCertificate } from "./tls-pair.ts";

export type GivenCert = { setting: "WRIT_TLS_CERT" | "WRIT_CLIENT_CA"; path: string; expiresAt: number };

/** Certificates in files outside the home that expire soon. Throws if the files cannot be used. */
export async function expiringGivenCerts(
  settings: Pick<HubSettings, "tlsCert" | "tlsKey" | "clientCa">,
  nowMs: number,
): Promise<GivenCert[]> {
  const found: { setting: GivenCert["setting"]; path: string; pem: string }[] = [];
  const paths = givenPaths(settings);
  if (paths !== null) {
    const { certPem } = await readGivenPair(paths);
    found.push({ setting: "WRIT_TLS_CERT", path: paths.certPath, pem: certPem });
  }
  if (settings.clientCa !== null) {
    const path = settings.clientCa;
    for (const pem of await readClientAuthorities(path)) found.push({ setting: "WRIT_CLIENT_CA", path, pem });
  }
  return found
    .map(({ setting, path, pem }) => ({ setting, path, certificate: parseCertificate(path, pem) }))
    .filter(({ certificate }) => endsSoon(certificate, nowMs))
    .map(({ certificate, ...cert }) => ({ ...cert, expiresAt: certificate.validToDate.getTime() }));
}

/**
 * Tools renew short-lived certificates when a third of their lifetime is left; with less than a quarter, something is
 * wrong.
 */
function endsSoon({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean {
  const lifeMs = validToDate.getTime() - validFromDate.getTime();
  return validToDate.getTime() - nowMs < Math.min(renewBeforeMs, lifeMs / 4);
}
