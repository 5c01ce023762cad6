import { WritError } from "../../core/errors.ts";
import type { HubSettings } from "../settings/settings.ts";
import { certPaths } from "./cert-paths.ts";
import { readClientAuthorities } from "./client-authorities.ts";
import { type CertificateRequest, ensureCerts } from "./ensure-certs.ts";
import type { KeyPair } from "./make-certificate.ts";
import { type PairPaths, readTlsPair } from "./tls-pair.ts";

/** The certificates that the ports of a hub use, and the client authorities that they accept. */
export type HubTls = {
  /** The home's own pair: for gRPC, and for HTTP if no other was given. */
  own: KeyPair;
  given: KeyPair | null;
  /** As PEM. */
  clientAuthorities: string[];
};

type TlsSettings = Pick<HubSettings, "tlsCert" | "tlsKey" | "clientCa">;

/** Loads all certificates for a start, and creates those that the home does not have. */
export async function openHubTls(
  home: string,
  settings: TlsSettings,
  request: CertificateRequest,
): Promise<HubTls> {
  const paths = givenPaths(settings);
  const { server } = await ensureCerts(home, request);
  return {
    own: server,
    given: paths === null ? null : await readGivenPair(paths),
    clientAuthorities: await readClientAuthorities(authoritiesPath(home, settings)),
  };
}

export function givenPaths({ tlsCert, tlsKey }: Pick<TlsSettings, "tlsCert" | "tlsKey">): PairPaths | null {
  if (tlsCert !== null && tlsKey !== null) return { certPath: tlsCert, keyPath: tlsKey };
  if (tlsCert === null && tlsKey === null) return null;
  throw new WritError("CONFIG_INVALID", "WRIT_TLS_CERT and WRIT_TLS_KEY must be set together");
}

export function authoritiesPath(home: string, { clientCa }: Pick<TlsSettings, "clientCa">): string {
  return clientCa ?? certPaths(home).caCert;
}

/** The owner of these files decides who may read them; a group of their own is common. */
export function readGivenPair(paths: PairPaths): Promise<KeyPair> {
  return readTlsPair(paths, { mustBePrivate: false });
}
