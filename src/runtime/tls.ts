import { constants } from "node:crypto";
import type { TlsOptions } from "node:tls";

/**
 * How every port of ours speaks TLS: version 1.3 only, the strongest suite first, and no session tickets. A resumed
 * session would bring back the identity of a certificate that nobody has checked again since, so none is resumed.
 */
export const strictTls = {
  minVersion: "TLSv1.3",
  maxVersion: "TLSv1.3",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256",
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_TICKET,
  // Whoever has not finished the handshake by then holds a socket and nothing else.
  handshakeTimeout: 10_000,
} as const satisfies TlsOptions;

/**
 * All that decides a handshake, for the making of a server and for a change while it runs alike: Node forgets every
 * option of the context that is not given again, the lowest version and the refusal of tickets among them.
 */
export function tlsContext({ certPem, keyPem }: { certPem: string; keyPem: string }) {
  return { ...strictTls, cert: certPem, key: keyPem };
}
