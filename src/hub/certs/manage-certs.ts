import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { ensureHome } from "../../runtime/settings/home.ts";
import { noteCertActs } from "./cert-acts.ts";
import { type CertPaths, certPaths } from "./cert-paths.ts";
import { type CertificateSubject, tenantRule, userRule } from "./certificate-subject.ts";
import { withCertsLock } from "./certs-lock.ts";
import { checkHubHome } from "./check-hub-home.ts";
import { ensureAuthority, noteIssued } from "./ensure-certs.ts";
import { type ListedCert, listCerts } from "./issued-certs.ts";
import { makeClientCertificate } from "./make-certificate.ts";
import { addRevocations, readRevocations, serialText } from "./revocations.ts";

type IssueRequest = CertificateSubject & {
  /** The folder that becomes a home on another machine. */
  out: string;
  /** The hub's address as that machine reaches it. */
  hub: { url: string; grpcPort: number };
  /** The operating system's user who issues it. */
  by: string;
  nowMs: number;
};

export type IssuedCert = { serial: string; expiresAt: number };

/** Issues a certificate and fills a folder with everything that `jobctl` needs on another machine. */
export async function issueCert(home: string, request: IssueRequest): Promise<IssuedCert> {
  checkNames(request);
  if (request.out === home || existsSync(certPaths(request.out).caKey)) throw hubHome(request.out);
  await ensureHome(request.out);
  if (existsSync(join(request.out, "client.key"))) {
    throw new WritError(
      "INVALID_ARGUMENT",
      `--out: ${request.out} already contains a certificate; name another folder`,
    );
  }
  const paths = certPaths(home);
  return withCertsLock(home, async () => {
    const authority = await ensureAuthority(paths, request.nowMs);
    const made = await makeClientCertificate(authority, request);
    // Listed first: a certificate that is not on the list could not be revoked by name.
    await noteIssued(paths, made);
    await noteCertActs(paths, [{ act: "issue", serial: made.serial, by: request.by, at: request.nowMs }]);
    const { url, grpcPort } = request.hub;
    const hubFile = { url, port: portOf(url), grpc_port: grpcPort };
    await writePrivateFile(join(request.out, "client.key"), made.keyPem);
    await writePrivateFile(join(request.out, "client.crt"), made.certPem);
    await writePrivateFile(join(request.out, "ca.crt"), authority.certPem);
    await writePrivateFile(join(request.out, "hub.json"), `${JSON.stringify(hubFile, null, 2)}\n`);
    return { serial: made.serial, expiresAt: expiryOf(made.certPem) };
  });
}

/** The certificate's files would replace the hub's own, for example the file with its address. */
function hubHome(out: string): WritError {
  return new WritError("INVALID_ARGUMENT", `--out: ${out} is a hub's home; name another folder`);
}

type RevokeRequest = {
  serial?: string;
  user?: string;
  tenant?: string;
  nowMs: number;
  /** The operating system's user who ran the command. Absent if the hub itself revokes: it records the act too. */
  by?: string;
};

/** `isIssuedHere` is false for a serial of another authority in WRIT_CLIENT_CA, and for one that was mistyped. */
type RevokedCert = { serial: string; isIssuedHere: boolean };

/** Revokes a certificate, or all certificates of a user. A running hub refuses them from the next call on. */
export async function revokeCerts(home: string, request: RevokeRequest): Promise<RevokedCert[]> {
  checkHubHome(home);
  const paths = certPaths(home);
  return withCertsLock(home, async () => {
    const chosen =
      request.serial === undefined
        ? await serialsOf(home, request)
        : [await nameSerial(home, request.serial)];
    if (request.by !== undefined) await noteRevoked(paths, chosen, { by: request.by, at: request.nowMs });
    const entries = chosen.map(({ serial, user }) => ({ serial, user, revoked_at: request.nowMs }));
    await addRevocations(paths.revoked, entries);
    return chosen.map(({ serial, user }) => ({ serial, isIssuedHere: user !== null }));
  });
}

async function noteRevoked(
  paths: CertPaths,
  chosen: Chosen[],
  done: { by: string; at: number },
): Promise<void> {
  const known = new Set((await readRevocations(paths.revoked)).map(({ serial }) => serial));
  const fresh = chosen.filter(({ serial }) => !known.has(serial));
  await noteCertActs(
    paths,
    fresh.map(({ serial }) => ({ act: "revoke", serial, ...done })),
  );
}

/** Certificates in use that expire soon, without revoked and replaced ones. */
export async function expiringCerts(home: string, nowMs: number): Promise<ListedCert[]> {
  const newest = new Map<string, ListedCert>();
  for (const cert of await listCerts(home, nowMs)) {
    const owner = JSON.stringify([cert.kind, cert.user, cert.tenant, cert.role]);
    if (cert.revokedAt === null && !newest.has(owner)) newest.set(owner, cert);
  }
  return [...newest.values()].filter(({ endsSoon }) => endsSoon);
}

type Chosen = { serial: string; user: string | null };

async function serialsOf(home: string, { user, tenant, nowMs }: RevokeRequest): Promise<Chosen[]> {
  const found = (await listCerts(home, nowMs)).filter(
    (cert) => cert.kind === "client" && cert.user === user && (tenant ?? cert.tenant) === cert.tenant,
  );
  if (found.length === 0) throw new WritError("NOT_FOUND", `no certificate was issued for ${user}`);
  return found;
}

async function nameSerial(home: string, given: string): Promise<Chosen> {
  const serial = serialText(given);
  if (!/^[0-9A-F]{1,64}$/.test(serial)) {
    throw new WritError(
      "INVALID_ARGUMENT",
      "a serial number has up to 64 hex digits; `writ certs list` shows them",
    );
  }
  // A serial that was not issued here may come from another authority in WRIT_CLIENT_CA.
  const known = (await listCerts(home, 0)).find((cert) => cert.serial === serial);
  if (known !== undefined && known.kind !== "client") {
    throw new WritError(
      "INVALID_ARGUMENT",
      `${serial} is the certificate of the ${known.kind}, not of a user`,
    );
  }
  return { serial, user: known?.user ?? null };
}

function checkNames({ user, tenant }: CertificateSubject): void {
  if (!userRule.test(user)) {
    throw new WritError("INVALID_ARGUMENT", "user: must be 1 to 50 letters, digits, _ . - or @");
  }
  if (!tenantRule.test(tenant)) {
    throw new WritError("INVALID_ARGUMENT", "tenant: must be 3 to 50 letters, digits or _");
  }
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function expiryOf(certPem: string): number {
  return new X509Certificate(certPem).validToDate.getTime();
}
