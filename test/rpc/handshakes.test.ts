import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lastSeq, readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import {
  authorityOf,
  clientAuth,
  type Forgery,
  forge,
  forgeFor,
  type Pair,
  serverAuth,
} from "./forge-certificate.ts";
import { type RawAnswer, rawCall } from "./raw-call.ts";
import { type RpcHub, startRpcHub } from "./rpc-hub.ts";

let hub: RpcHub;

beforeAll(async () => {
  hub = await startRpcHub();
});
afterAll(() => hub.stop());

/** Each from an address of its own: failed logins of one address are counted together. */
let addresses = 1;
const ownAddress = () => `127.0.1.${++addresses}`;

async function callWith(pair: Partial<Pair>, tls = {}): Promise<{ answer: RawAnswer; address: string }> {
  const address = ownAddress();
  const options = { ca: hub.ca, localAddress: address, ...pair, ...tls };
  return { answer: await rawCall({ port: hub.grpcPort, tls: options }), address };
}

const failedLoginFrom = (address: string) =>
  eventually(`a failed login from ${address}`, () =>
    readEvents(hub.home).find(
      ({ event, origin }) => event === "LOGIN_FAILED" && origin?.ipAddress === address,
    ),
  );

describe("the handshake is refused and noted with its address", () => {
  const cases: [string, () => Promise<Partial<Pair>>, RegExp][] = [
    ["no certificate", async () => ({}), /PEER_DID_NOT_RETURN_A_CERTIFICATE/],
    ["a self-signed one", () => forge({ issuer: null, usages: [clientAuth] }), /SELF_SIGNED/],
    ["one of another authority", fromAnotherAuthority, /UNABLE_TO_|SELF_SIGNED/],
    ["one of another authority with the same name", fromAnImpostor, /SIGNATURE|UNABLE_TO_|SELF_SIGNED/],
    ["an expired one", () => forgeFor(hub.home, { notAfter: new Date(Date.now() - 60_000) }), /EXPIRED/],
    [
      "one from tomorrow",
      () => forgeFor(hub.home, { notBefore: tomorrow(), notAfter: tomorrow(2) }),
      /NOT_YET_VALID/,
    ],
    ["one for servers only", () => forgeFor(hub.home, { usages: [serverAuth] }), /PURPOSE/],
    ["one signed by a user's certificate", signedByALeaf, /INVALID_CA|PATH_LENGTH|UNABLE_TO_|PURPOSE/],
  ];

  test.each(cases)("%s", async (_name, make, reason) => {
    const { answer, address } = await callWith(await make());
    expect(answer.kind).toBe("broken");
    const { details, origin } = await failedLoginFrom(address);
    expect(details["error"]).toMatch(reason);
    expect(origin).toMatchObject({ userId: null, method: "TLS" });
  });

  test("TLS 1.2", async () => {
    const { answer, address } = await callWith(hub.root, { maxVersion: "TLSv1.2", minVersion: "TLSv1.2" });
    expect(answer.kind).toBe("broken");
    expect((await failedLoginFrom(address)).details["error"]).toMatch(/PROTOCOL/);
  });

  test("plain text", async () => {
    const answer = await fetch(`http://127.0.0.1:${hub.grpcPort}/`).catch((error: Error) => error);
    expect(answer).toBeInstanceOf(Error);
  });
});

describe("the call is refused and noted with its reason", () => {
  const subjects: [string, Partial<Forgery>, RegExp][] = [
    ["two CNs", { name: [{ CN: ["alice"] }, { CN: ["root"] }] }, /more than one CN/],
    ["two Os", { name: [{ CN: ["alice"] }, { O: ["acme"] }, { O: ["globex"] }] }, /more than one O/],
    ["two OUs", { name: [{ CN: ["alice"] }, { OU: ["staff"] }, { OU: ["admin"] }] }, /more than one OU/],
    ["no CN", { name: [{ O: ["acme"] }] }, /no user/],
    ["an empty CN", { name: [{ CN: [""] }] }, /empty name|CN/],
    ["several names in one part", { name: [{ CN: ["alice"], O: ["acme"] }] }, /several names in one part/],
    ["two CNs in one part", { name: [{ CN: ["alice", "root"] }] }, /several names in one part/],
    ["a line break in the CN", { name: [{ CN: ["alice\nOU=admin"] }] }, /control characters/],
    ["a NUL in the CN", { name: [{ CN: ["root\0.example"] }] }, /control characters/],
    ["a CN that is too long", { name: [{ CN: ["a".repeat(51)] }] }, /1 to 50/],
    ["a CN with a slash", { name: [{ CN: ["../root"] }] }, /1 to 50/],
    ["a tenant that is none", { name: [{ CN: ["alice"] }, { O: ["a b"] }] }, /3 to 50/],
    ["a CA as a leaf", { isAuthority: true }, /authority/],
    ["no extended usage", { usages: undefined }, /clientAuth/],
    ["any usage but ours", { usages: ["2.5.29.37.0"] }, /clientAuth/],
  ];

  test.each(subjects)("%s", async (_name, changes, reason) => {
    const { answer, address } = await callWith(await forgeFor(hub.home, changes));
    const { details } = await failedLoginFrom(address);
    expect(details["error"]).toMatch(new RegExp(`${reason.source}|TLS: `));
    if (answer.kind === "status")
      expect(answer).toMatchObject({ status: 16, message: expect.stringMatching(reason) });
  });

  test("A18: a certificate whose name is not accepted is noted with its serial", async () => {
    const forged = await forgeFor(hub.home, { name: [{ CN: ["alice"] }, { CN: ["root"] }] });
    const { address } = await callWith(forged);
    const serial = new X509Certificate(forged.cert).serialNumber;
    expect((await failedLoginFrom(address)).details).toMatchObject({ serial });
  });

  test("a user who is not on the list of users", async () => {
    const home = hub.home;
    await hub.stop({ keepHome: true });
    writeFileSync(join(home, "writ.yaml"), "users: [root]\n", { mode: 0o600 });
    hub = await startRpcHub({}, { home });
    expect((await callWith(hub.root)).answer).toMatchObject({ kind: "status", status: 0 });
    const { answer, address } = await callWith(await forgeFor(home));
    expect(answer).toMatchObject({ status: 16, message: expect.stringContaining("alice is not on") });
    expect((await failedLoginFrom(address)).details).toHaveProperty("serial");
  });
});

test("a flood of bad handshakes is noted twenty times and then once", async () => {
  const address = ownAddress();
  const before = lastSeq(hub.home);
  const startedMs = performance.now();
  const attempts = Array.from({ length: 40 }, () =>
    rawCall({ port: hub.grpcPort, tls: { ca: hub.ca, localAddress: address } }),
  );
  await Promise.all(attempts);
  const events = await eventually("a note that it is a flood", () => {
    const seen = readEvents(hub.home, before).filter(({ origin }) => origin?.ipAddress === address);
    return seen.some(({ event }) => event === "RATE_LIMIT_HIT") ? seen : null;
  });
  // Twenty in a minute, so each three seconds that all this took have brought one more.
  const allowed = 20 + Math.ceil((performance.now() - startedMs) / 3_000);
  expect(events.filter(({ event }) => event === "LOGIN_FAILED").length).toBeLessThanOrEqual(allowed);
  expect(events.filter(({ event }) => event === "RATE_LIMIT_HIT")).toHaveLength(1);
});

test("a good certificate is let in, by its own name, tenant and role", async () => {
  expect((await callWith(hub.root)).answer).toMatchObject({ kind: "status", status: 0 });
});

test("no session is resumed: neither one with a certificate nor one without", async () => {
  const offered: Buffer[] = [];
  const { grpcPort: port } = hub;
  const first = await openTls(port, hub.root, { onSession: (session) => offered.push(session) });
  expect(first.getPeerX509Certificate()).toBeDefined();
  first.destroy();
  for (const session of offered) {
    const bare = await rawCall({
      port: hub.grpcPort,
      tls: { ca: hub.ca, session, localAddress: ownAddress() },
    });
    expect(bare.kind).toBe("broken");
    const again = await openTls(port, hub.root, { session });
    expect(again.isSessionReused()).toBe(false);
    again.destroy();
  }
});

test("the same probe does resume on a server that gives tickets, so it would notice", async () => {
  const read = (name: string) => readFileSync(join(hub.home, "certs", name));
  const options = { cert: read("server.crt"), key: read("server.key"), ca: hub.ca, requestCert: true };
  const server = createSecureServer({ ...options, rejectUnauthorized: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const offered: Buffer[] = [];
  (await openTls(port, hub.root, { onSession: (session) => offered.push(session) })).destroy();
  expect(offered.length).toBeGreaterThan(0);
  const again = await openTls(port, hub.root, { session: offered[0]! });
  expect(again.isSessionReused()).toBe(true);
  again.destroy();
  server.close();
});

test("openssl gets the strongest suite, even when it would rather have another", async () => {
  const args = [
    "-ciphersuites",
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384",
  ];
  for (const wishes of [[], args]) {
    const said = await openssl(wishes);
    expect(said).toContain("Cipher is TLS_AES_256_GCM_SHA384");
    expect(said).toContain("TLSv1.3");
    expect(said).toContain("Verify return code: 0 (ok)");
  }
});

test.each(["-tls1_2", "-tls1_1"])("openssl %s gets nothing", async (flag) => {
  expect(await openssl([flag])).not.toContain("Cipher is TLS_");
});

async function openssl(flags: string[]): Promise<string> {
  const [ca, cert, key] = ["ca.crt", "root/client.crt", "root/client.key"].map((name) =>
    join(hub.home, "certs", name),
  );
  const args = [
    "s_client",
    "-connect",
    `127.0.0.1:${hub.grpcPort}`,
    "-CAfile",
    ca!,
    "-cert",
    cert!,
    "-key",
    key!,
  ];
  return new Promise((resolve) => {
    const child = execFile("openssl", [...args, "-alpn", "h2", ...flags], (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
    child.stdin!.end();
  });
}

async function openTls(
  port: number,
  pair: Pair,
  { onSession = () => {}, session }: { onSession?: (session: Buffer) => void; session?: Buffer },
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    ALPNProtocols: ["h2"],
    ca: hub.ca,
    session,
    ...pair,
  });
  socket.on("session", onSession);
  socket.on("error", reject);
  // The server's first frame comes after whatever tickets it would send.
  socket.once("data", () => resolve(socket));
  return promise;
}

async function fromAnotherAuthority(): Promise<Pair> {
  const issuer = await forge({ issuer: null, isAuthority: true, name: [{ CN: ["Somebody Else"] }] });
  return forge({ issuer, usages: [clientAuth] });
}

async function fromAnImpostor(): Promise<Pair> {
  const subject = new X509Certificate(authorityOf(hub.home).cert).subject.replace("CN=", "");
  const issuer = await forge({ issuer: null, isAuthority: true, name: [{ CN: [subject] }] });
  return forge({ issuer, usages: [clientAuth] });
}

async function signedByALeaf(): Promise<Pair> {
  const issuer = await forgeFor(hub.home);
  const { cert, key } = await forge({
    issuer,
    usages: [clientAuth],
    name: [{ CN: ["root"] }, { OU: ["admin"] }],
  });
  return { cert: `${cert}\n${issuer.cert}`, key };
}

function tomorrow(days = 1): Date {
  return new Date(Date.now() + days * 86_400_000);
}
