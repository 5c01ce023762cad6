import { X509Certificate } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { defaultTenant } from "../../core/identity.ts";
import { readPrivateFile, writePrivateFile } from "../../runtime/files/private-file.ts";
import { noteCertActs } from "./cert-acts.ts";
import { type CertPaths, certPaths } from "./cert-paths.ts";
import { userRule } from "./certificate-subject.ts";
import { withCertsLock } from "./certs-lock.ts";
import { addHomeAdmin, fingerprintOf, isHomeAdmin } from "./home-admins.ts";
import {
  type KeyPair,
  type MadeCertificate,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "./make-certificate.ts";
import { parseCertificate, parseKey } from "./tls-pair.ts";

/** A certificate with less time left than this is replaced, at the start or while the hub runs, and warned about. */
export const renewBeforeMs = 30 * 86_400_000;

export type CertificateRequest = {
  /** The person whose first certificate is in the home. */
  osUser: string;
  /** The names of the hub, in addition to localhost. */
  hosts: string[];
  nowMs: number;
};

type HubCerts = { caPem: string; server: KeyPair };

/**
 * Ensures the authority, the server's certificate and the first person's. Missing ones are created; those that expire
 * soon, or lack a new name of the hub, are replaced.
 */
export async function ensureCerts(home: string, request: CertificateRequest): Promise<HubCerts> {
  const paths = certPaths(home);
  return (await findGood(paths, request)) ?? withCertsLock(home, () => completeCerts(paths, request));
}

/**
 * Whether a running hub that uses this pair has to ensure its certificates again. Names do not change while it runs,
 * and a broken or missing file changes nothing, because a person may be in the middle of replacing it.
 */
export async function isRenewalDue(
  home: string,
  request: CertificateRequest,
  shown: KeyPair,
): Promise<boolean> {
  if (!lastsLong(shown.certPem, request.nowMs)) return true;
  const { cert, key } = certPaths(home).client(clientName(request.osUser));
  // A pair that cannot be read is not renewed; see above.
  const client = await readPair(cert, key).catch(() => null);
  return client !== null && !lastsLong(client.certPem, request.nowMs);
}

/** Creates new certificates for the server and the first person, even if the old ones are still valid. */
export async function renewCerts(home: string, request: CertificateRequest): Promise<HubCerts> {
  const paths = certPaths(home);
  return withCertsLock(home, async () => {
    const authority = await ensureAuthority(paths, request.nowMs);
    const server = await replaceServer(paths, authority, request);
    await replaceClient(paths, authority, request, (serial) =>
      noteCertActs(paths, [{ act: "issue", serial, by: request.osUser, at: request.nowMs }]),
    );
    return { caPem: authority.certPem, server };
  });
}

/** The usual start: everything exists, and neither the library nor the lock is needed. */
async function findGood(paths: CertPaths, request: CertificateRequest): Promise<HubCerts | null> {
  const caPem = await readPrivateFile(paths.caCert);
  const server = await readPair(paths.serverCert, paths.serverKey);
  const { cert, key } = paths.client(clientName(request.osUser));
  const client = await readPair(cert, key);
  if (caPem === null || server === null || client === null) return null;
  const isGood =
    serverFits(server, request) &&
    lastsLong(client.certPem, request.nowMs) &&
    (await isHomeAdmin(paths.homeAdmins, fingerprintIn(client.certPem)));
  return isGood ? { caPem, server } : null;
}

async function completeCerts(paths: CertPaths, request: CertificateRequest): Promise<HubCerts> {
  const good = await findGood(paths, request);
  if (good !== null) return good;
  const authority = await ensureAuthority(paths, request.nowMs);
  const kept = await readPair(paths.serverCert, paths.serverKey);
  const server =
    kept !== null && serverFits(kept, request) ? kept : await replaceServer(paths, authority, request);
  const { cert, key } = paths.client(clientName(request.osUser));
  const client = await readPair(cert, key);
  if (client === null || !lastsLong(client.certPem, request.nowMs))
    await replaceClient(paths, authority, request);
  // A home of an older version has the certificate, but not its fingerprint.
  else await addHomeAdmin(paths.homeAdmins, fingerprintIn(client.certPem));
  return { caPem: authority.certPem, server };
}

/** Call it under the lock. A lost half is never created again, because existing certificates depend on it. */
export async function ensureAuthority(paths: CertPaths, nowMs: number): Promise<KeyPair> {
  const [certPem, keyPem] = [await readPrivateFile(paths.caCert), await readPrivateFile(paths.caKey)];
  if (certPem !== null && keyPem !== null) return { certPem, keyPem };
  if (certPem !== null || keyPem !== null) {
    const missing = certPem === null ? paths.caCert : paths.caKey;
    throw new WritError(
      "CONFIG_INVALID",
      `${missing} is missing: restore it, or remove ${paths.folder} whole`,
    );
  }
  const made = await makeAuthority(nowMs);
  // The key is written first, because an authority without its key could never sign anything.
  await writePrivateFile(paths.caKey, made.keyPem);
  await writePrivateFile(paths.caCert, made.certPem);
  return made;
}

/** Keeps a copy of what was issued, so that it can be listed, and revoked by user name. */
export async function noteIssued(paths: CertPaths, { serial, certPem }: MadeCertificate): Promise<void> {
  await mkdir(paths.issued, { recursive: true, mode: 0o700 });
  await writePrivateFile(join(paths.issued, `${serial}.crt`), certPem);
}

/** A user name as certificates allow it; some systems have others. */
export function clientName(osUser: string): string {
  if (userRule.test(osUser) && !osUser.startsWith(".")) return osUser;
  return osUser.replaceAll(/[^A-Za-z0-9_@-]/g, "-").slice(0, 50) || "admin";
}

async function replaceServer(
  paths: CertPaths,
  authority: KeyPair,
  request: CertificateRequest,
): Promise<KeyPair> {
  const made = await makeServerCertificate(authority, { hosts: hostsOf(request), nowMs: request.nowMs });
  await noteIssued(paths, made);
  await writePair(paths.serverCert, paths.serverKey, made);
  return { certPem: made.certPem, keyPem: made.keyPem };
}

async function replaceClient(
  paths: CertPaths,
  authority: KeyPair,
  request: CertificateRequest,
  /** Called before the certificate can be used. */
  note: (serial: string) => Promise<void> = async () => {},
): Promise<void> {
  const user = clientName(request.osUser);
  const made = await makeClientCertificate(authority, {
    user,
    tenant: defaultTenant,
    isAdmin: true,
    nowMs: request.nowMs,
  });
  const { folder, cert, key } = paths.client(user);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await noteIssued(paths, made);
  await addHomeAdmin(paths.homeAdmins, fingerprintIn(made.certPem));
  await note(made.serial);
  await writePair(cert, key, made);
}

function fingerprintIn(certPem: string): string {
  return fingerprintOf(new X509Certificate(certPem));
}

async function writePair(certPath: string, keyPath: string, { certPem, keyPem }: KeyPair): Promise<void> {
  await writePrivateFile(keyPath, keyPem);
  await writePrivateFile(certPath, certPem);
}

/** Null if one is missing, or if the two do not match, as after a crash between their writes. */
async function readPair(certPath: string, keyPath: string): Promise<KeyPair | null> {
  const [certPem, keyPem] = [await readPrivateFile(certPath), await readPrivateFile(keyPath)];
  if (certPem === null || keyPem === null) return null;
  const certificate = parseCertificate(certPath, certPem);
  return certificate.checkPrivateKey(parseKey(keyPath, keyPem)) ? { certPem, keyPem } : null;
}

function serverFits({ certPem }: KeyPair, request: CertificateRequest): boolean {
  if (!lastsLong(certPem, request.nowMs)) return false;
  const certificate = new X509Certificate(certPem);
  return hostsOf(request).every((host) => {
    const found = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host);
    return found !== undefined;
  });
}

function lastsLong(certPem: string, nowMs: number): boolean {
  return new X509Certificate(certPem).validToDate.getTime() - nowMs > renewBeforeMs;
}

function hostsOf({ hosts }: CertificateRequest): string[] {
  return [...new Set(["localhost", "127.0.0.1", "::1", ...hosts])];
}
