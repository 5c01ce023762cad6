import { WritError } from "../../core/errors.ts";
import type { HubSettings } from "../settings.ts";
import { certPaths } from "./cert-paths.ts";
import { readClientAuthorities } from "./client-authorities.ts";
import { type CertificateRequest, ensureCerts } from "./ensure-certs.ts";
import type { KeyPair } from "./make-certificate.ts";
import { type PairPaths, readTlsPair } from "./tls-pair.ts";

/** What the ports of a hub show, and whose clients they believe. */
export type HubTls = {
  /** The home's own pair: for gRPC, and for HTTP unless another was given. */
  own: KeyPair;
  given: KeyPair | null;
  /** As PEM. */
  clientAuthorities: string[];
};

type TlsSettings = Pick<HubSettings, "tlsCert" | "tlsKey" | "clientCa">;

/** Reads all of it for a start; what the home lacks is made. */
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
  throw new WritError("CONFIG_INVALID", "WRIT_TLS_CERT and WRIT_TLS_KEY are given together or not at all");
}

export function authoritiesPath(home: string, { clientCa }: Pick<TlsSettings, "clientCa">): string {
  return clientCa ?? certPaths(home).caCert;
}

/** Whoever keeps these files decides who may read them: a group of their own is usual. */
export function readGivenPair(paths: PairPaths): Promise<KeyPair> {
  return readTlsPair(paths, { mustBePrivate: false });
}
