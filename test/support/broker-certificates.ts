import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCerts } from "../../src/hub/certs/ensure-certs.ts";

/** A certificate for 127.0.0.1, and the authority that signed it. Each call makes another authority. */
export async function brokerCertificates(): Promise<{ ca: string; cert: string; key: string }> {
  const dir = mkdtempSync(join(tmpdir(), "writ-broker-certs-"));
  try {
    const { caPem, server } = await ensureCerts(dir, { hosts: [], osUser: "tester", nowMs: Date.now() });
    return { ca: caPem, cert: server.certPem, key: server.keyPem };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
