import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readPrivateFile } from "../../runtime/files/private-file.ts";
import { certPaths } from "./cert-paths.ts";
import { readSubject } from "./certificate-subject.ts";
import { renewBeforeMs } from "./ensure-certs.ts";
import { fingerprintOf } from "./home-admins.ts";
import { backdatedMs } from "./make-certificate.ts";
import { readRevocations, serialText } from "./revocations.ts";

export type ListedCert = {
  serial: string;
  fingerprint: string;
  kind: "authority" | "server" | "client";
  user: string | null;
  tenant: string | null;
  role: "admin" | "user" | null;
  issuedAt: number;
  expiresAt: number;
  revokedAt: number | null;
  /** In PEM; null except for the authority. */
  certificate: string | null;
  /** It expires within 30 days. */
  endsSoon: boolean;
};

type CertFacts = Omit<ListedCert, "revokedAt" | "endsSoon">;

/** About 5 MB; a home that has issued more reads the others from their files each time. */
const keptMax = 10_000;

/**
 * The certificates that a home has issued. A copy of each is kept under its serial number and never changes, so it is
 * read once; each call looks up which of them exist and which are revoked, because commands change that.
 */
export class IssuedCerts {
  readonly #paths;
  readonly #known = new Map<string, CertFacts>();

  constructor(home: string) {
    this.#paths = certPaths(home);
  }

  /** Lists the authority first, then the newest first. */
  async list(nowMs: number): Promise<ListedCert[]> {
    const { revoked: revokedFile, caCert } = this.#paths;
    const revoked = new Map(
      (await readRevocations(revokedFile)).map((entry) => [serialText(entry.serial), entry.revoked_at]),
    );
    const facts = [await readFacts(caCert), ...(await this.#issued())].filter((cert) => cert !== null);
    const listed = facts.map((cert) => ({
      ...cert,
      revokedAt: revoked.get(cert.serial) ?? null,
      endsSoon: cert.expiresAt - nowMs < renewBeforeMs,
    }));
    const rank = (cert: ListedCert) => (cert.kind === "authority" ? Number.POSITIVE_INFINITY : cert.issuedAt);
    return listed.sort((a, b) => rank(b) - rank(a));
  }

  async #issued(): Promise<(CertFacts | null)[]> {
    const { issued } = this.#paths;
    const names = (existsSync(issued) ? await readdir(issued) : []).filter((name) =>
      /^[0-9A-F]+\.crt$/.test(name),
    );
    const present = new Set(names);
    for (const name of this.#known.keys()) if (!present.has(name)) this.#known.delete(name);
    const all: (CertFacts | null)[] = [];
    for (const name of names) {
      const facts = this.#known.get(name) ?? (await readFacts(join(issued, name)));
      if (facts !== null && this.#known.size < keptMax) this.#known.set(name, facts);
      all.push(facts);
    }
    return all;
  }
}

/** Every certificate that this home has issued, read from its files. */
export function listCerts(home: string, nowMs: number): Promise<ListedCert[]> {
  return new IssuedCerts(home).list(nowMs);
}

async function readFacts(path: string): Promise<CertFacts | null> {
  const pem = await readPrivateFile(path);
  return pem === null ? null : describe(new X509Certificate(pem));
}

function describe(certificate: X509Certificate): CertFacts {
  const kind = certificate.ca ? "authority" : certificate.subjectAltName === undefined ? "client" : "server";
  const subject = kind === "client" ? readSubject(certificate.raw) : null;
  return {
    serial: serialText(certificate.serialNumber),
    fingerprint: fingerprintOf(certificate),
    kind,
    user: subject?.user ?? null,
    tenant: subject?.tenant ?? null,
    role: subject === null ? null : subject.isAdmin ? "admin" : "user",
    issuedAt: certificate.validFromDate.getTime() + backdatedMs,
    expiresAt: certificate.validToDate.getTime(),
    certificate: kind === "authority" ? certificate.toString() : null,
  };
}
