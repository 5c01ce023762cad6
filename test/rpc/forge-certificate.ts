import { readFileSync } from "node:fs";
import { join } from "node:path";
import type * as x509 from "@peculiar/x509";
import { x509Library } from "../../src/hub/certs/x509-library.ts";

export type Pair = { cert: string; key: string };

export type Forgery = {
  name?: x509.JsonName;
  /** The signer; the certificate itself when null. */
  issuer: Pair | null;
  usages?: string[];
  isAuthority?: boolean;
  notBefore?: Date;
  notAfter?: Date;
  serial?: string;
};

export const clientAuth = "1.3.6.1.5.5.7.3.2";
export const serverAuth = "1.3.6.1.5.5.7.3.1";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

/** A certificate with whatever fault a test wishes, made apart from the code that makes ours. */
export async function forge(wish: Forgery): Promise<Pair & { serial: string }> {
  const library = await x509Library();
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const serial = wish.serial ?? `5${crypto.randomUUID().replaceAll("-", "").slice(1)}`.toUpperCase();
  const issuer = wish.issuer === null ? null : new library.X509Certificate(wish.issuer.cert);
  const extensions: x509.Extension[] = [
    new library.BasicConstraintsExtension(wish.isAuthority ?? false, undefined, true),
  ];
  if (wish.usages !== undefined) extensions.push(new library.ExtendedKeyUsageExtension(wish.usages));
  const subject = new library.Name(wish.name ?? [{ CN: ["alice"] }, { O: ["acme"] }]);
  const certificate = await library.X509CertificateGenerator.create({
    serialNumber: serial,
    subject,
    issuer: issuer?.subjectName ?? subject,
    notBefore: wish.notBefore ?? new Date(Date.now() - dayMs),
    notAfter: wish.notAfter ?? new Date(Date.now() + dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: wish.issuer === null ? keys.privateKey : await importKey(wish.issuer.key),
    extensions,
  });
  const exported = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    serial,
    cert: certificate.toString("pem"),
    key: library.PemConverter.encode(exported, "PRIVATE KEY"),
  };
}

/** A valid certificate except for what is changed, signed by the home's own authority. */
export function forgeFor(home: string, changes: Partial<Forgery> = {}) {
  return forge({ issuer: authorityOf(home), usages: [clientAuth], ...changes });
}

export function authorityOf(home: string): Pair {
  const read = (name: string) => readFileSync(join(home, "certs", name), "utf8");
  return { cert: read("ca.crt"), key: read("ca.key") };
}

async function importKey(pem: string): Promise<CryptoKey> {
  const { PemConverter } = await x509Library();
  return crypto.subtle.importKey("pkcs8", PemConverter.decodeFirst(pem), algorithm, false, ["sign"]);
}
