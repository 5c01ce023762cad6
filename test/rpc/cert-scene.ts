import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { renewHomeCerts } from "../../src/hub/admin.ts";
import { type Clock, systemClock } from "../../src/runtime/clock/clock.ts";
import { eventually } from "../support/eventually.ts";
import type { Pair } from "./forge-certificate.ts";
import { rawCall } from "./raw-call.ts";
import { type RpcHub, startRpcHub } from "./rpc-hub.ts";

const dayMs = 86_400_000;
/** How long a hub rests between two looks at its files. */
const lookMs = 10_000;

export const reachable = { WRIT_HOST: "0.0.0.0" };

/** A hub that looks at its files all the time, because its long rests are short. `days` moves its calendar. */
function hurriedClock() {
  let rests = 0;
  const clock = {
    ...systemClock,
    days: 0,
    nowMs: () => systemClock.nowMs() + clock.days * dayMs,
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms === lookMs) rests++;
      return systemClock.sleep(ms < lookMs ? ms : 20, signal);
    },
    async looks(count: number): Promise<void> {
      const enough = rests + count;
      await eventually(`${count} looks`, () => rests >= enough);
    },
  };
  return clock satisfies Clock;
}

export async function openScene(env: Record<string, string> = {}) {
  const clock = hurriedClock();
  const hub = await startRpcHub({ WRIT_LOG_LEVEL: "info", ...env }, { clock });
  onTestFinished(() => hub.stop());
  const logged = () =>
    readFileSync(join(hub.home, "logs/hub.log"), "utf8")
      .split("\n")
      .filter((line) => /certificates? |client authorities/.test(line) && !line.includes('"route"'));
  return { hub, clock, logged };
}

export function folderOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `writ-${name}-`));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function pathsOf({ home }: RpcHub) {
  const path = (name: string) => join(home, "certs", name);
  return {
    serverCert: path("server.crt"),
    serverKey: path("server.key"),
    caKey: path("ca.key"),
    client: path("root/client.crt"),
  };
}

export const serialIn = (path: string) => new X509Certificate(readFileSync(path)).serialNumber;
export const grpcTls = (hub: RpcHub): ConnectionOptions => ({ ...hub.root, ALPNProtocols: ["h2"] });
export const write = (path: string, text: string) => writeFileSync(path, text, { mode: 0o600 });
export const renew = ({ home }: RpcHub) =>
  renewHomeCerts({ home, env: {}, osUser: "root", nowMs: Date.now() });
export const callAs = (hub: RpcHub, pair: Pair) =>
  rawCall({ port: hub.grpcPort, tls: { ca: hub.ca, ...pair } });

/** A connection as far as TLS, whatever the port shows. */
export async function handshake(port: number, tls: ConnectionOptions): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...tls });
  socket.once("secureConnect", () => resolve(socket));
  socket.once("error", reject);
  onTestFinished(() => void socket.destroy());
  return promise;
}

export async function serialOn(port: number, tls: ConnectionOptions = {}): Promise<string> {
  const socket = await handshake(port, tls);
  const { serialNumber } = socket.getPeerX509Certificate()!;
  socket.destroy();
  return serialNumber;
}

/** Until these ports show the certificate with this serial number. */
export function portsShow(
  hub: RpcHub,
  serial: string,
  ports: ("http" | "grpc")[] = ["http", "grpc"],
): Promise<boolean> {
  const shown = { http: () => serialOn(hub.port), grpc: () => serialOn(hub.grpcPort, grpcTls(hub)) };
  return eventually(`${ports.join(" and ")} show ${serial}`, async () => {
    const seen = await Promise.all(ports.map((port) => shown[port]()));
    return seen.every((one) => one === serial);
  });
}
