import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { JobsOverGrpc } from "../../src/client/grpc/jobs-over-grpc.ts";
import { revokeCerts } from "../../src/hub/certs/manage-certs.ts";
import { ForwardingRpc } from "../../src/hub/forward/forwarding-rpc.ts";
import { loadHubSettings } from "../../src/hub/settings/settings.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startedForAll } from "../support/use-hub.ts";
import { folderOf } from "./cert-scene.ts";
import { clientAuth, forge, forgeFor, type Pair, serverAuth } from "./forge-certificate.ts";
import { issueTo, type RpcHub, startRpcHub, stubFor } from "./rpc-hub.ts";

/** What the port looks at every two seconds it looks at all the time, so that no test waits for it. */
const hurriedClock = {
  ...systemClock,
  setTimer: (fn: () => void, ms: number) => systemClock.setTimer(fn, ms === 2_000 ? 20 : ms),
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms === 2_000 ? 20 : ms, signal),
};

const limits = { WRIT_CONNECTIONS_PER_CERTIFICATE: "3", WRIT_CONNECTIONS_PER_ADDRESS: "40" };
const hub: RpcHub = startedForAll(() => startRpcHub(limits, { clock: hurriedClock }));

/** A client that shakes hands, begins with HTTP/2 and then does nothing more. */
function openIdle(pair: Partial<Pair>, port = hub.grpcPort, tls: ConnectionOptions = {}): TLSSocket {
  const options = { host: "127.0.0.1", servername: "localhost", ca: hub.ca, ALPNProtocols: ["h2"] };
  const socket = connect({ ...options, ...pair, ...tls, port });
  socket.on("error", () => {});
  socket.once("secureConnect", () => socket.write(hello));
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** The preface of HTTP/2 and empty settings. */
const hello = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/** What the client hears first: the hub's settings, or why TLS refuses it. */
async function outcomeOf(socket: TLSSocket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code!.replace(/.*_ALERT_/, "")));
  socket.once("close", () => resolve("closed"));
  socket.once("data", () => resolve("open"));
  return promise;
}

const closed = (socket: Socket) => (socket.closed ? Promise.resolve() : once(socket, "close"));

const logOf = () => readFileSync(join(hub.home, "logs/hub.log"), "utf8");

test("O-05, O-20: a revoked certificate is refused at the handshake, with an alert, in the log and in the trail", async () => {
  const pair = await issueTo(hub, "rita", "acme");
  await revokeCerts(hub.home, { serial: pair.serial, nowMs: Date.now() });
  expect(await outcomeOf(openIdle(pair))).toBe("CERTIFICATE_REVOKED");
  const noted = { event: "LOGIN_FAILED", details: { error: "TLS: CERT_REVOKED", serial: pair.serial } };
  await eventually("the trail has it", () =>
    readEvents(hub.home).some(
      ({ event, details }) => event === noted.event && details["serial"] === pair.serial,
    ),
  );
  const line = await eventually("the log has it", () =>
    logOf()
      .split("\n")
      .find((text) => text.includes(pair.serial) && text.includes("refused")),
  );
  expect(JSON.parse(line)).toMatchObject({ error: "TLS: CERT_REVOKED", address: "127.0.0.1" });
});

test("O-20: every refused certificate gets the alert of its reason", async () => {
  const stranger = await forge({ issuer: null, usages: [clientAuth] });
  const old = await forgeFor(hub.home, { notAfter: new Date(Date.now() - 60_000) });
  const server = await forgeFor(hub.home, { usages: [serverAuth] });
  expect(await outcomeOf(openIdle({}))).toBe("CERTIFICATE_REQUIRED");
  expect(await outcomeOf(openIdle(stranger))).toBe("UNKNOWN_CA");
  expect(await outcomeOf(openIdle(old))).toBe("CERTIFICATE_EXPIRED");
  expect(await outcomeOf(openIdle(server))).toBe("UNSUPPORTED_CERTIFICATE");
});

test.each(["TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"])(
  "O-20: the alert can be read with %s",
  async (ciphers) => {
    const stranger = await forge({ issuer: null, usages: [clientAuth] });
    expect(await outcomeOf(openIdle(stranger, hub.grpcPort, { ciphers }))).toBe("UNKNOWN_CA");
  },
);

test("O-20: our own client says in words why its certificate is refused", async () => {
  const pair = await issueTo(hub, "ruth", "acme");
  await revokeCerts(hub.home, { serial: pair.serial, nowMs: Date.now() });
  const jobs = new JobsOverGrpc({ address: `127.0.0.1:${hub.grpcPort}`, home: pair.folder, user: "ruth" });
  onTestFinished(() => jobs.close());
  await expect(jobs.listPage()).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: expect.stringContaining("refused the certificate: it is revoked"),
  });
});

test("O-05: one certificate has a bounded number of connections, and does not take those of others", async () => {
  const [alice, bob] = [await issueTo(hub, "alice", "acme"), await issueTo(hub, "bob", "acme")];
  const open = [openIdle(alice), openIdle(alice), openIdle(alice)];
  expect(await Promise.all(open.map(outcomeOf))).toEqual(["open", "open", "open"]);
  expect(await outcomeOf(openIdle(alice))).toBe("ACCESS_DENIED");
  expect(await outcomeOf(openIdle(bob))).toBe("open");
  await eventually("it is noted", () =>
    readEvents(hub.home).some(
      ({ event, details }) => event === "RATE_LIMIT_HIT" && details["serial"] === alice.serial,
    ),
  );
  open[0]!.destroy();
  await eventually(
    "one that has closed counts no more",
    async () => (await outcomeOf(openIdle(alice))) === "open",
  );
});

test("O-05: open connections of a certificate end when it is revoked, those of others stay", async () => {
  const [rudi, carol] = [await issueTo(hub, "rudi", "acme"), await issueTo(hub, "carol", "acme")];
  const [ending, staying] = [openIdle(rudi), openIdle(carol)];
  expect(await Promise.all([ending, staying].map(outcomeOf))).toEqual(["open", "open"]);
  await revokeCerts(hub.home, { serial: rudi.serial, nowMs: Date.now() });
  await closed(ending);
  const stub = stubFor(hub, carol);
  onTestFinished(() => stub.close());
  await stub.call("ListJobs", {});
  expect(staying.closed).toBe(false);
});

test.each(["grpcPort", "port"] as const)(
  "O-05: one address has a bounded number of connections to the %s",
  async (port) => {
    const sockets = Array.from({ length: 60 }, () => {
      const socket = connectTcp({ port: hub[port], host: "127.0.0.1" });
      socket.on("error", () => {});
      onTestFinished(() => void socket.destroy());
      return socket;
    });
    let ended = 0;
    for (const socket of sockets) socket.once("close", () => ended++);
    await eventually("the last ones are hung up on", () => ended >= 20);
    await eventually("it is noted", () =>
      readEvents(hub.home).some(
        ({ event, details, origin }) =>
          event === "RATE_LIMIT_HIT" &&
          details["limit"] === "connections" &&
          origin?.method === "connect" &&
          origin.endpoint === (port === "port" ? "HTTP" : "gRPC"),
      ),
    );
    for (const socket of sockets) socket.destroy();
    await eventually("there is room again", async () => {
      const answer = await fetch(`${hub.url}/healthz`).catch(() => null);
      return answer?.status === 200;
    });
  },
);

/** The port of a hub that has moved has the same connections as that of a hub, and a clock that a test can move. */
async function forwarder(limits: Record<string, string> = {}) {
  const clock = handClock();
  const pair = await forge({ issuer: null, usages: [serverAuth] });
  const env = { WRIT_GRPC_PORT: "0", ...limits };
  const settings = await loadHubSettings({ home: folderOf("forwarder"), flags: {}, env });
  const moved = { to: ["https://new.example"], toGrpc: "new.example:1", onCall: () => {} };
  const rpc = new ForwardingRpc(
    { settings, clock },
    { pair: { certPem: pair.cert, keyPem: pair.key }, ...moved },
  );
  await rpc.start();
  onTestFinished(() => rpc.stop());
  return { clock, port: rpc.port, ca: pair.cert };
}

test("O-05: one address has a bounded number of connections to a hub that has moved", async () => {
  const { port } = await forwarder({ WRIT_CONNECTIONS_PER_ADDRESS: "2" });
  const open = () => openIdle({}, port, { rejectUnauthorized: false, ca: undefined });
  const [first, second] = [open(), open()];
  expect(await Promise.all([first, second].map(outcomeOf))).toEqual(["open", "open"]);
  expect(await outcomeOf(open())).not.toBe("open");
  first.destroy();
  await eventually("there is room again", async () => (await outcomeOf(open())) === "open");
  expect(second.closed).toBe(false);
});

test("O-05: a client that shakes hands and never begins with HTTP/2 is cut off", async () => {
  const { clock, port, ca } = await forwarder();
  const mute = connect({ port, host: "127.0.0.1", ca, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  mute.on("error", () => {});
  await once(mute, "data");
  await clock.pass(9_000);
  expect(mute.closed).toBe(false);
  await clock.pass(4_000);
  await closed(mute);
});

test("O-05: a connection without a call ends after five minutes, even if it answers pings", async () => {
  const { clock, port } = await forwarder();
  const session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  let goodbyes = 0;
  session.on("goaway", () => goodbyes++);
  for (let minutes = 0; minutes < 4; minutes++) {
    const pinged = once(session, "ping");
    await clock.pass(62_000);
    await pinged;
    await new Promise((resolve) => session.ping(resolve));
  }
  expect(goodbyes).toBe(0);
  const gone = once(session, "close");
  await clock.pass(60_000);
  await gone;
  expect(goodbyes).toBe(1);
});

test("O-05: a client that no longer answers is cut off", async () => {
  const { clock, port } = await forwarder();
  const silent = openIdle({}, port, { rejectUnauthorized: false, ca: undefined });
  await once(silent, "data");
  await clock.pass(60_000);
  expect(silent.closed).toBe(false);
  await clock.pass(30_000);
  await closed(silent);
});
