import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { claimJob, registerWorker } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import {
  callAs,
  folderOf,
  grpcTls,
  handshake,
  openScene,
  pathsOf,
  portsShow,
  reachable,
  renew,
  serialIn,
  serialOn,
  write,
} from "./cert-scene.ts";
import { authorityOf, clientAuth, type Forgery, forge, type Pair, serverAuth } from "./forge-certificate.ts";
import { rawCall } from "./raw-call.ts";
import { type RpcHub, start, startRpcHub, stubFor } from "./rpc-hub.ts";

const dayMs = 86_400_000;

test("halves of two pairs, a broken file and a missing one change nothing, and each is told once without its key", async () => {
  const { hub, clock, logged } = await openScene(reachable);
  const { serverCert, serverKey } = pathsOf(hub);
  const before = serialIn(serverCert);
  const fresh = await forgeServer(hub);
  const cases: [string, () => void, RegExp][] = [
    ["another key", () => write(serverKey, fresh.key), /server\.key is not the key of .*server\.crt/],
    [
      "no key",
      () => write(serverKey, "a secret that is no key"),
      /server\.key contains no readable private key/,
    ],
    ["no certificate", () => write(serverCert, "nothing"), /server\.crt contains no certificate/],
    ["a missing file", () => rmSync(serverCert), /server\.crt cannot be read: ENOENT/],
  ];
  for (const [what, harm, says] of cases) {
    const count = logged().length;
    harm();
    const lines = await eventually(`${what} is told`, () => logged().length > count && logged());
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ level: "error", msg: expect.stringMatching(says) });
    await clock.looks(20);
    expect(logged()).toHaveLength(count + 1);
    await portsShow(hub, before);
  }
  write(serverCert, fresh.cert);
  write(serverKey, fresh.key);
  await portsShow(hub, fresh.serial);
  const log = readFileSync(join(hub.home, "logs/hub.log"), "utf8");
  for (const secret of ["PRIVATE KEY", "a secret that is no key", fresh.key.split("\n")[1]!]) {
    expect(log).not.toContain(secret);
  }
});

test("after a change the port still refuses TLS 1.2, strangers and old sessions", async () => {
  const { hub } = await openScene(reachable);
  await renew(hub);
  await portsShow(hub, serialIn(pathsOf(hub).serverCert));
  for (const [port, pair] of [
    [hub.port, {}],
    [hub.grpcPort, grpcTls(hub)],
  ] as const) {
    await expect(handshake(port, { ...pair, maxVersion: "TLSv1.2" })).rejects.toThrow(/protocol version/i);
    const weaker = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";
    const socket = await handshake(port, { ...pair, ciphers: weaker });
    expect(socket.getCipher().name).toBe("TLS_AES_256_GCM_SHA384");
    expect(socket.getProtocol()).toBe("TLSv1.3");
    expect(await resumes(port, pair)).toBe(false);
  }
  const stranger = await forge({ issuer: null, usages: [clientAuth] });
  for (const pair of [{}, stranger]) {
    expect(await rawCall({ port: hub.grpcPort, tls: { ca: hub.ca, ...pair } })).toMatchObject({
      kind: "broken",
    });
  }
  expect(await callAs(hub, hub.root)).toMatchObject({ status: 0 });
});

test("writ certs renew is shown to new connections while a stream that is open goes on", async () => {
  const { hub, logged } = await openScene();
  const stub = stubFor(hub, hub.root);
  onTestFinished(() => stub.close());
  const id = await start(stub);
  const job = await claimJob(hub, { workerId: await registerWorker(hub), type: "exec" });
  await hub.must("POST", `/jobs/${id}/start`, { token: hub.admin, body: job.fence });
  await appendOutput(hub, job, { bytes: Buffer.from("before ") });
  const messages = stub.stream({ job_id: id })[Symbol.asyncIterator]();
  expect((await messages.next()).value.data.toString()).toBe("before ");

  const before = await serialOn(hub.grpcPort, grpcTls(hub));
  await renew(hub);
  const after = serialIn(pathsOf(hub).serverCert);
  expect(after).not.toBe(before);
  await portsShow(hub, after, ["grpc"]);
  await appendOutput(hub, job, { offset: 7, bytes: Buffer.from("after") });
  expect((await messages.next()).value.data.toString()).toBe("after");
  await stub.call("ListJobs", {});
  expect(logged().map((line) => JSON.parse(line))).toMatchObject([{ level: "info", serial: after }]);
});

test("a connection to the HTTPS port that is open goes on", async () => {
  const { hub } = await openScene(reachable);
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: hub.ca });
  onTestFinished(() => agent.destroy());
  const before = await get(hub, agent);
  await renew(hub);
  await portsShow(hub, serialIn(pathsOf(hub).serverCert));
  expect(await get(hub, agent)).toEqual(before);
});

test("the hub renews its own and the first person's before they end, and no others", async () => {
  const { hub, clock } = await openScene(reachable);
  const { serverCert, client } = pathsOf(hub);
  const before = { server: serialIn(serverCert), client: serialIn(client), ca: authorityOf(hub.home).cert };
  clock.days = 330;
  await clock.looks(20);
  await portsShow(hub, before.server);
  clock.days = 340;
  await eventually("another certificate", () => serialIn(serverCert) !== before.server);
  await portsShow(hub, serialIn(serverCert));
  expect(serialIn(client)).not.toBe(before.client);
  expect(authorityOf(hub.home).cert).toBe(before.ca);
  const once = serialIn(serverCert);
  await clock.looks(20);
  expect(serialIn(serverCert)).toBe(once);
});

test("a renewal that cannot be is told once an hour, and the hub goes on", async () => {
  const { hub, clock, logged } = await openScene(reachable);
  const { serverCert, caKey } = pathsOf(hub);
  rmSync(caKey);
  clock.days = 340;
  const [line] = await eventually("it is told", () => logged().length > 0 && logged());
  expect(JSON.parse(line!).msg).toMatch(/could not be renewed \(.*ca\.key is missing/);
  await clock.looks(20);
  expect(logged()).toHaveLength(1);
  await portsShow(hub, serialIn(serverCert));
});

test("the files of WRIT_TLS_CERT may be links that a tool moves; gRPC keeps the home's own", async () => {
  const folder = folderOf("given");
  const [first, second] = [await forgeAlone(), await forgeAlone()];
  for (const [name, pair] of Object.entries({ first, second })) {
    mkdirSync(join(folder, name));
    write(join(folder, name, "fullchain.pem"), pair.cert);
    write(join(folder, name, "privkey.pem"), pair.key);
  }
  point(folder, "first");
  const live = { cert: join(folder, "live/fullchain.pem"), key: join(folder, "live/privkey.pem") };
  const { hub } = await openScene({ WRIT_TLS_CERT: live.cert, WRIT_TLS_KEY: live.key });
  await portsShow(hub, first.serial, ["http"]);
  point(folder, "second");
  await portsShow(hub, second.serial, ["http"]);
  await renew(hub);
  await portsShow(hub, serialIn(pathsOf(hub).serverCert), ["grpc"]);
  expect(await serialOn(hub.port)).toBe(second.serial);
});

test("a start with a key that is another's is refused in words", async () => {
  const folder = folderOf("given");
  write(join(folder, "a.crt"), (await forgeAlone()).cert);
  write(join(folder, "b.key"), (await forgeAlone()).key);
  const env = { WRIT_TLS_CERT: join(folder, "a.crt"), WRIT_TLS_KEY: join(folder, "b.key") };
  await expect(startRpcHub(env, { home: folderOf("home") })).rejects.toThrow(
    /b\.key is not the key of .*a\.crt/,
  );
});

test("an authority that comes lets its clients in; one that goes takes the open connections along", async () => {
  const folder = folderOf("authorities");
  const [old, fresh] = [await forgeAuthority("Old"), await forgeAuthority("New")];
  write(join(folder, "old.pem"), old.cert);
  const { hub, logged } = await openScene({ WRIT_CLIENT_CA: folder });
  const [alice, bob] = [
    await forge({ issuer: old, usages: [clientAuth] }),
    await forge(clientOf(fresh, "bob")),
  ];
  const carol = await forgeThroughAnother(fresh, "carol");
  const [stubOfAlice, stubOfBob, stubOfCarol] = [stubFor(hub, alice), stubFor(hub, bob), stubFor(hub, carol)];
  onTestFinished(() => {
    for (const stub of [stubOfAlice, stubOfBob, stubOfCarol]) stub.close();
  });
  expect(await callAs(hub, bob)).toMatchObject({ kind: "broken" });
  await stubOfAlice.call("ListJobs", {});
  const stream = stubOfAlice.stream({ job_id: await start(stubOfAlice) })[Symbol.asyncIterator]();
  const streamEnds = stream.next().catch((error: { details: string }) => error.details);

  write(join(folder, "new.pem"), fresh.cert);
  await eventually("bob is let in", async () => (await callAs(hub, bob)).kind === "status");
  for (const stub of [stubOfAlice, stubOfBob, stubOfCarol]) await stub.call("ListJobs", {});

  write(join(folder, "note.pem"), alice.cert);
  await eventually("a leaf is refused", () => logged().at(-1)?.includes("is not an authority"));
  rmSync(join(folder, "note.pem"));

  rmSync(join(folder, "old.pem"));
  await eventually("alice is let in no more", async () => (await callAs(hub, alice)).kind === "broken");
  expect(await stubOfAlice.refused("ListJobs", {})).toMatchObject({
    code: 16,
    details: "the authority of the certificate is no longer trusted",
  });
  expect(await streamEnds).toContain("no longer trusted");
  for (const stub of [stubOfBob, stubOfCarol]) await stub.call("ListJobs", {});
  expect(await callAs(hub, carol)).toMatchObject({ status: 0 });
});

/** Whether a session that the port has offered is taken up again; it is not when none was offered. */
async function resumes(port: number, tls: ConnectionOptions): Promise<boolean> {
  const offered: Buffer[] = [];
  const first = await handshake(port, tls);
  first.on("session", (session) => offered.push(session));
  // Whatever the server says first, or that it hangs up on nonsense, comes after its tickets.
  const { promise, resolve } = Promise.withResolvers<void>();
  first.once("data", () => resolve());
  first.once("close", () => resolve());
  first.write("GET / HTTP/1.0\r\n\r\n");
  await promise;
  first.destroy();
  const [session] = offered;
  return session !== undefined && (await handshake(port, { ...tls, session })).isSessionReused();
}

function get(hub: RpcHub, agent: Agent): Promise<{ status?: number; serial?: string; localPort?: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status?: number;
    serial?: string;
    localPort?: number;
  }>();
  const call = request({ host: "127.0.0.1", port: hub.port, path: "/healthz", agent }, (answer) => {
    const socket = answer.socket as TLSSocket;
    const seen = { serial: socket.getPeerX509Certificate()?.serialNumber, localPort: socket.localPort };
    answer.resume().once("end", () => resolve({ status: answer.statusCode, ...seen }));
  });
  call.on("error", reject).end();
  return promise;
}

function forgeServer(hub: RpcHub) {
  return forge({ issuer: authorityOf(hub.home), usages: [serverAuth], notAfter: inDays(300) });
}

const forgeAlone = () => forge({ issuer: null, usages: [serverAuth] });
const forgeAuthority = (name: string) => forge({ issuer: null, isAuthority: true, name: [{ CN: [name] }] });
const inDays = (days: number) => new Date(Date.now() + days * dayMs);

function clientOf(issuer: Pair, user: string): Forgery {
  return { issuer, usages: [clientAuth], name: [{ CN: [user] }, { O: ["acme"] }] };
}

/** A certificate of an authority below the one that is believed; the client sends both. */
async function forgeThroughAnother(root: Pair, user: string): Promise<Pair> {
  const between = await forge({ issuer: root, isAuthority: true, name: [{ CN: ["Between"] }] });
  const { cert, key } = await forge(clientOf(between, user));
  return { cert: `${cert}\n${between.cert}`, key };
}

/** Moves the link `live` in one step, as certbot and mounted secrets do. */
function point(folder: string, target: string): void {
  symlinkSync(join(folder, target), join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "live"));
}
