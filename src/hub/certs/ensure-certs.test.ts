import { X509Certificate } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { certPaths } from "./cert-paths.ts";
import { clientName, ensureCerts, renewBeforeMs, renewCerts } from "./ensure-certs.ts";

const dayMs = 86_400_000;
const now = Date.UTC(2030, 0, 1);

function open() {
  const home = mkdtempSync(join(tmpdir(), "writ-certs-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const paths = certPaths(home);
  const certificate = (path: string) => new X509Certificate(readFileSync(path));
  const ensure = (changes: { nowMs?: number; hosts?: string[]; osUser?: string } = {}) =>
    ensureCerts(home, { osUser: "alice", hosts: [], nowMs: now, ...changes });
  return { home, paths, certificate, ensure };
}

test("a lost half of the authority is not created again", async () => {
  for (const half of ["caCert", "caKey"] as const) {
    const { paths, ensure } = open();
    await ensure();
    rmSync(paths[half]);
    rmSync(paths.serverKey);
    await expect(ensure()).rejects.toThrow(`${paths[half]} is missing: restore it`);
  }
});

test("a key that others can read is refused", async () => {
  const { paths, ensure } = open();
  await ensure();
  chmodSync(paths.serverKey, 0o644);
  await expect(ensure()).rejects.toThrow("other users can access");
});

test("each certificate is created once, private, and for one purpose", async () => {
  const { paths, certificate, ensure } = open();
  const certs = await ensure({ hosts: ["hub.example", "192.0.2.1"] });
  const authority = certificate(paths.caCert);
  const server = certificate(paths.serverCert);
  const client = certificate(paths.client("alice").cert);
  expect(authority.ca).toBe(true);
  for (const leaf of [server, client]) {
    expect(leaf.ca).toBe(false);
    expect(leaf.checkIssued(authority) && leaf.verify(authority.publicKey)).toBe(true);
    expect((leaf.validToDate.getTime() - now) / dayMs).toBe(365);
  }
  expect((authority.validToDate.getTime() - now) / dayMs).toBe(3650);
  expect(server.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(client.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  expect(client.subject.split("\n")).toEqual(["CN=alice", "O=default", "OU=admin"]);
  for (const name of ["localhost", "hub.example"]) expect(server.checkHost(name)).toBe(name);
  for (const ip of ["127.0.0.1", "::1", "192.0.2.1"]) expect(server.checkIP(ip)).toBeTruthy();
  for (const path of filesBelow(paths.folder)) expect(statSync(path).mode & 0o077, path).toBe(0);
  expect((await ensure({ hosts: ["hub.example"] })).server).toEqual(certs.server);
});

test("a certificate that expires within 30 days is replaced at the start, and the authority stays", async () => {
  const { paths, certificate, ensure } = open();
  const first = await ensure();
  const before = certificate(paths.client("alice").cert).serialNumber;
  const late = now + 365 * dayMs - renewBeforeMs;
  expect((await ensure({ nowMs: late - dayMs })).server).toEqual(first.server);
  const second = await ensure({ nowMs: late + dayMs });
  expect(second.server).not.toEqual(first.server);
  expect(second.caPem).toBe(first.caPem);
  expect(certificate(paths.client("alice").cert).serialNumber).not.toBe(before);
});

test("a new name of the hub is in the next certificate", async () => {
  const { paths, certificate, ensure } = open();
  await ensure();
  await ensure({ hosts: ["new.example"] });
  expect(certificate(paths.serverCert).checkHost("new.example")).toBe("new.example");
});

test("a certificate without its matching key, as after a crash between their writes, is created again", async () => {
  const { home, paths, ensure } = open();
  const first = await ensure();
  await renewCerts(home, { osUser: "alice", hosts: [], nowMs: now });
  const { writeFileSync } = await import("node:fs");
  writeFileSync(paths.serverCert, first.server.certPem, { mode: 0o600 });
  const { server } = await ensure();
  const { createPrivateKey } = await import("node:crypto");
  expect(new X509Certificate(server.certPem).checkPrivateKey(createPrivateKey(server.keyPem))).toBe(true);
});

test("simultaneous calls create one authority", async () => {
  const { ensure } = open();
  const made = await Promise.all([ensure(), ensure(), ensure()]);
  expect(new Set(made.map(({ caPem }) => caPem)).size).toBe(1);
});

test.each([
  ["alice", "alice"],
  ["DOMAIN\\alice b", "DOMAIN-alice-b"],
  ["..", "--"],
  ["", "admin"],
])("the user %j is named %j in certificates", (osUser, name) => {
  expect(clientName(osUser)).toBe(name);
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    join(entry.parentPath, entry.name),
  );
}
