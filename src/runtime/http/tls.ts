import { constants } from "node:crypto";
import type { TlsOptions } from "node:tls";

/**
 * The TLS options of all our ports: version 1.3 only, the strongest suite first, and no session tickets. A resumed
 * session would bring back the identity of a certificate that was not checked again, so no session is resumed.
 */
export const strictTls = {
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_TICKET,
  // A client that has not finished the handshake by then only holds a socket.
  handshakeTimeout: 10_000,
} as const satisfies TlsOptions;

/**
 * All options of a handshake, used for creating a server and for changing it while it runs. Node forgets every option
 * of the context that is not given again, including the lowest version and the refusal of tickets.
 * Why: ADR 0011, ADR 0012.
 */
export function tlsContext({ certPem, keyPem }: { certPem: string; keyPem: string }) {
  return { ...strictTls, cert: certPem, key: keyPem };
}
