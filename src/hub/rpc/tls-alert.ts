// Sends a client the reason why the handshake refuses it. Why: ADR 0094.
import { type CipherGCMTypes, createCipheriv, createHmac } from "node:crypto";
import type { Http2SecureServer } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../runtime/clock/clock.ts";
import { socketBelow } from "../connections/http2-connections.ts";

/** Why TLS refuses a client, by the numbers of RFC 8446, section 6. */
export const tlsAlert = {
  badCertificate: 42,
  unsupportedCertificate: 43,
  certificateRevoked: 44,
  certificateExpired: 45,
  unknownAuthority: 48,
  accessDenied: 49,
  internalError: 80,
  certificateRequired: 116,
} as const;

export type TlsAlert = (typeof tlsAlert)[keyof typeof tlsAlert];

/** How long a client may take to read the alert. After an earlier close, the kernel could drop it. */
const lingerMs = 1_000;

/** All of them take a nonce, associated data and a tag as GCM does. */
const suites: Record<string, { cipher: string; hash: string; keyBytes: number }> = {
  TLS_AES_256_GCM_SHA384: { cipher: "aes-256-gcm", hash: "sha384", keyBytes: 32 },
  TLS_AES_128_GCM_SHA256: { cipher: "aes-128-gcm", hash: "sha256", keyBytes: 16 },
  TLS_CHACHA20_POLY1305_SHA256: { cipher: "chacha20-poly1305", hash: "sha256", keyBytes: 32 },
};

/**
 * Refuses clients of a server with an alert that names the reason. Node completes the handshake with any certificate,
 * and can then only close the connection, which a client cannot tell from a broken network. So the alert is encrypted
 * here, with the secret that TLS derived for what the server sends. It is the first and the last record under that
 * secret: nothing may have been sent on the socket before, and nothing is sent after it.
 */
export class TlsAlerts {
  readonly #clock: Clock;
  readonly #secrets = new WeakMap<TLSSocket, Buffer>();

  constructor(server: Http2SecureServer, clock: Clock) {
    this.#clock = clock;
    server.on("keylog", (line: Buffer, socket: TLSSocket) => {
      const [label, , secret] = line.toString("latin1").trim().split(" ");
      if (label === "SERVER_TRAFFIC_SECRET_0") this.#secrets.set(socket, Buffer.from(secret!, "hex"));
    });
  }

  /** Drops the secret of an accepted handshake, which is no longer needed. */
  forget(socket: TLSSocket): void {
    this.#secrets.delete(socket);
  }

  /** Sends the alert, and closes the socket when the client has, or after a second. */
  refuse(socket: TLSSocket, alert: TlsAlert): void {
    const secret = this.#secrets.get(socket);
    const suite = suites[socket.getCipher()?.name ?? ""];
    this.forget(socket);
    if (secret === undefined || suite === undefined) return void socket.destroy();
    const late = this.#clock.setTimer(() => socket.destroy(), lingerMs);
    socket.once("close", () => late.cancel());
    socket.on("error", () => {});
    // Otherwise Node answers the client's end with a record of its own.
    socket.allowHalfOpen = true;
    socket.once("end", () => socket.destroy());
    socket.resume();
    socketBelow(socket).end(alertRecord(secret, suite, alert));
  }
}

/** One record of TLS 1.3 with a fatal alert, as the first under this secret (RFC 8446, sections 5.2 and 7.3). */
function alertRecord(
  secret: Buffer,
  { cipher, hash, keyBytes }: (typeof suites)[string],
  alert: TlsAlert,
): Buffer {
  const [fatal, contentType, tagBytes] = [2, 21, 16];
  const plain = Buffer.from([fatal, alert, contentType]);
  const header = Buffer.from([23, 3, 3, 0, plain.length + tagBytes]);
  const key = expandLabel(secret, hash, "key", keyBytes);
  // The nonce is the IV with the record's number, which is zero.
  const nonce = expandLabel(secret, hash, "iv", 12);
  const sealing = createCipheriv(cipher as CipherGCMTypes, key, nonce, { authTagLength: tagBytes });
  sealing.setAAD(header, { plaintextLength: plain.length });
  return Buffer.concat([header, sealing.update(plain), sealing.final(), sealing.getAuthTag()]);
}

/** HKDF-Expand-Label without context, for at most one block of the hash. */
function expandLabel(secret: Buffer, hash: string, label: string, bytes: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, name.length]), name, Buffer.from([0, 1])]);
  return createHmac(hash, secret).update(info).digest().subarray(0, bytes);
}
