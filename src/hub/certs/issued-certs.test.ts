import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { certPaths } from "./cert-paths.ts";
import { IssuedCerts, listCerts } from "./issued-certs.ts";
import { issueCert, revokeCerts } from "./manage-certs.ts";

const nowMs = Date.UTC(2030, 0, 1);

function open() {
  const home = mkdtempSync(join(tmpdir(), "writ-issued-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const issue = async (user: string) => {
    const request = { user, tenant: "acme", isAdmin: false, out: join(home, "for", user), by: "root", nowMs };
    return (await issueCert(home, { ...request, hub: { url: "http://127.0.0.1:1", grpcPort: 2 } })).serial;
  };
  const copyOf = (serial: string) => join(certPaths(home).issued, `${serial}.crt`);
  return { home, issue, copyOf };
}

test("a certificate is read from its file once", async () => {
  const { home, issue, copyOf } = open();
  const serial = await issue("ann");
  const certs = new IssuedCerts(home);
  const first = await certs.list(nowMs);
  expect(first.map(({ user }) => user)).toEqual([null, "ann"]);
  writeFileSync(copyOf(serial), "no certificate", { mode: 0o600 });
  expect(await certs.list(nowMs)).toEqual(first);
  await expect(listCerts(home, nowMs)).rejects.toThrow();
});

test("the next call notices certificates that were issued, revoked or removed", async () => {
  const { home, issue, copyOf } = open();
  const certs = new IssuedCerts(home);
  expect(await certs.list(nowMs)).toEqual([]);
  const [ann, bob] = [await issue("ann"), await issue("bob")];
  const usersOf = async () => (await certs.list(nowMs)).flatMap(({ user }) => user ?? []).sort();
  expect(await usersOf()).toEqual(["ann", "bob"]);
  await revokeCerts(home, { serial: ann, nowMs });
  const revoked = (await certs.list(nowMs)).filter(({ revokedAt }) => revokedAt !== null);
  expect(revoked.map(({ serial }) => serial)).toEqual([ann]);
  rmSync(copyOf(bob));
  expect(await usersOf()).toEqual(["ann"]);
});
