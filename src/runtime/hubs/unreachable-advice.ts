import { otherProtocol } from "../http/connection.ts";

/** Codes of a certificate that no authority in our list has signed. */
const untrusted: readonly string[] = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/**
 * What to do about an address at which something listens that does not answer as a hub; undefined if the reason does
 * not show what it is.
 */
export function unreachableAdvice({ protocol, host, origin }: URL, reason: string): string | undefined {
  const isTls = protocol === "https:";
  if (isTls && reason === "EPROTO")
    return `${host} does not speak TLS; if it is the hub's address, use http://${host}`;
  if (isTls && reason === otherProtocol)
    return `${host} does not speak HTTP/1.1, as a hub's gRPC port does not; use the hub's HTTP port`;
  if (isTls && reason.includes("CERTIFICATE_REQUIRED"))
    return `${host} asks for a client certificate, as a hub's gRPC port does; use the hub's HTTP port`;
  if (isTls && untrusted.includes(reason))
    return `the certificate of ${host} is of an authority that is not trusted here; name its file with --ca or WRIT_CA_FILE`;
  if (!isTls && reason === "ECONNRESET")
    return `${origin} closes the connection: the hub may have just stopped, the port may want TLS (https://${host}), or it may be the gRPC port instead of the HTTP port`;
  return undefined;
}
