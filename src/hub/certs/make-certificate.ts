import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import type * as x509 from "@peculiar/x509";
import { x509Library } from "./x509-library.ts";

/** P-256: every TLS library with gRPC support knows it. */
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

const dayMs = 86_400_000;
const authorityDays = 3650;
const leafDays = 365;
/** A certificate is valid this long before it was made, because clocks of other machines may be behind. */
export const backdatedMs = 5 * 60_000;

const serverAuth = "1.3.6.1.5.5.7.3.1";
const clientAuth = "1.3.6.1.5.5.7.3.2";

export type KeyPair = { certPem: string; keyPem: string };
export type MadeCertificate = KeyPair & { serial: string };

/** A new private authority: its own root, which can sign leaf certificates but no further authorities. */
export async function makeAuthority(nowMs: number): Promise<KeyPair> {
  const library = await x509Library();
  const keys = await makeKeys();
  const certificate = await library.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [`Writ ${randomBytes(4).toString("hex")}`] }],
    ...validity(nowMs, authorityDays),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new library.BasicConstraintsExtension(true, 0, true),
      new library.KeyUsagesExtension(library.KeyUsageFlags.keyCertSign | library.KeyUsageFlags.cRLSign, true),
      await library.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certPem: pemOf(certificate), keyPem: await keyPem(keys.privateKey) };
}

export async function makeServerCertificate(
  authority: KeyPair,
  request: { hosts: string[]; nowMs: number },
): Promise<MadeCertificate> {
  const library = await x509Library();
  const names = request.hosts.map((host) =>
    isIP(host) === 0 ? { type: "dns" as const, value: host } : { type: "ip" as const, value: host },
  );
  return makeLeaf(authority, {
    name: [{ CN: ["writ hub"] }],
    usage: serverAuth,
    nowMs: request.nowMs,
    extensions: [new library.SubjectAlternativeNameExtension(names)],
  });
}

export async function makeClientCertificate(
  authority: KeyPair,
  request: { user: string; tenant: string; isAdmin: boolean; nowMs: number },
): Promise<MadeCertificate> {
  const name: x509.JsonName = [{ CN: [request.user] }, { O: [request.tenant] }];
  if (request.isAdmin) name.push({ OU: ["admin"] });
  return makeLeaf(authority, { name, usage: clientAuth, nowMs: request.nowMs, extensions: [] });
}

type Leaf = { name: x509.JsonName; usage: string; nowMs: number; extensions: x509.Extension[] };

async function makeLeaf(authority: KeyPair, leaf: Leaf): Promise<MadeCertificate> {
  const library = await x509Library();
  const issuer = new library.X509Certificate(authority.certPem);
  const signingKey = await importKey(authority.keyPem);
  const keys = await makeKeys();
  const serial = newSerial();
  const certificate = await library.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: leaf.name,
    issuer: issuer.subjectName,
    ...validity(leaf.nowMs, leafDays),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey,
    extensions: [
      new library.BasicConstraintsExtension(false, undefined, true),
      new library.KeyUsagesExtension(library.KeyUsageFlags.digitalSignature, true),
      new library.ExtendedKeyUsageExtension([leaf.usage]),
      await library.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await library.AuthorityKeyIdentifierExtension.create(issuer),
      ...leaf.extensions,
    ],
  });
  return { serial, certPem: pemOf(certificate), keyPem: await keyPem(keys.privateKey) };
}

function validity(nowMs: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(nowMs - backdatedMs), notAfter: new Date(nowMs + days * dayMs) };
}

/** 127 random bits; the first digit keeps it positive and without leading zeros, so that it has only one spelling. */
function newSerial(): string {
  return `4${randomBytes(16).toString("hex").slice(1)}`.toUpperCase();
}

function makeKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as Promise<CryptoKeyPair>;
}

type CryptoKeyPair = {
  publicKey: x509.PublicKeyType & globalThis.CryptoKey;
  privateKey: globalThis.CryptoKey;
};

async function importKey(pem: string): Promise<globalThis.CryptoKey> {
  const { PemConverter } = await x509Library();
  return crypto.subtle.importKey("pkcs8", PemConverter.decodeFirst(pem), algorithm, false, ["sign"]);
}

async function keyPem(key: globalThis.CryptoKey): Promise<string> {
  const { PemConverter } = await x509Library();
  return `${PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem")}\n`;
}
