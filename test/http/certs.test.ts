import { expect, test } from "vitest";
import { issuedCert } from "../support/certs.ts";
import { readEvents } from "../support/database.ts";
import { stillEnv } from "../support/hub.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

type Cert = { serial: string; kind: string; user_id: string | null; revoked_at: number | null };

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);
const list = async (token: string) => (await hub.must("GET", "/certs", { token })).json<Cert[]>();
const revoke = (serial: string, token: string) => hub.call("DELETE", `/certs/${serial}`, { token });

test("a certificate that was never issued, and one of another tenant, do not exist", async () => {
  const serial = await issuedCert(hub, { tenant: "globex" });
  for (const [unknown, token] of [
    ["ABCDEF", hub.admin],
    [serial, tokens.acmeAdmin],
  ] as const) {
    const answer = await revoke(unknown, token);
    expect(answer.status).toBe(404);
    expect(answer.json()).toMatchObject({ error: { message: `there is no certificate ${unknown}` } });
  }
  expect((await list(tokens.acmeAdmin)).map((cert) => cert.serial)).not.toContain(serial);
  expect((await revoke("not-a-serial", hub.admin)).status).toBe(400);
});

test("the certificates of the hub itself are listed for its administrators and cannot be revoked", async () => {
  await issuedCert(hub);
  const authority = (await list(hub.admin)).find(({ kind }) => kind === "authority")!;
  expect(authority).toMatchObject({ user_id: null, revoked_at: null });
  expect((await revoke(authority.serial, hub.admin)).status).toBe(400);
  expect((await list(tokens.acmeAdmin)).map(({ kind }) => kind)).not.toContain("authority");
});

test("an administrator of a tenant revokes its certificates, once, and that is recorded", async () => {
  const serial = await issuedCert(hub, { user: "carol" });
  expect((await list(tokens.acmeAdmin)).find((cert) => cert.serial === serial)).toMatchObject({
    kind: "client",
    user_id: "carol",
    tenant_id: "acme",
    role: "user",
    revoked_at: null,
  });
  for (let time = 0; time < 2; time++) expect((await revoke(serial, tokens.acmeAdmin)).status).toBe(204);
  expect((await list(hub.admin)).find((cert) => cert.serial === serial)?.revoked_at).toBeGreaterThan(0);
  const events = readEvents(hub.home).filter(({ event }) => event === "CERT_REVOKED");
  expect(events.map(({ details }) => details)).toEqual([{ serial, user_id: "carol" }]);
});
