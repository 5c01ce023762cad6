import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { WritError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { parseGrpcAddresses } from "../../runtime/hubs/grpc-address.ts";
import { readMovedTo } from "../../runtime/hubs/moved-hub.ts";
import { startAll, stopAll, together } from "../../runtime/service.ts";
import { certPaths } from "../certs/cert-paths.ts";
import { certificateRequest } from "../certs/certificate-request.ts";
import { openHubTls } from "../certs/hub-tls.ts";
import type { Listener } from "../http/listener.ts";
import { HttpServer, urlOf } from "../http/server.ts";
import { type HubSettings, loadHubSettings } from "../settings/settings.ts";
import { checkNewHub } from "./check-new-hub.ts";
import { ForwardingRpc } from "./forwarding-rpc.ts";
import { tellMoved } from "./tell-moved.ts";

type ForwardingCall = {
  home: string;
  flags: Record<string, string | undefined>;
  env: Record<string, string | undefined>;
  osUser: string;
  /** The addresses of the new hub, separated by commas. */
  to: string;
  /** The same for gRPC; by default the hosts of `to` with the usual port. */
  toGrpc: string | undefined;
  clock?: Clock;
};

type Forwarding = {
  url: string;
  grpcPort: number;
  to: string[];
  /** Problems of the new addresses at present. Callers retry until the addresses answer. */
  warnings: string[];
  stop(): Promise<void>;
};

const grpcPortDefault = 50_051;
/** Marks a forwarder's requests to the new hub, so that it recognises them if they arrive at itself. */
const questionHeader = "writ-forwarder";

/**
 * Answers at the address of a hub that has moved: every call receives the hub's new address. It presents the
 * certificates of the old hub, so callers can trust the answer, and needs nothing else of the home: no database and no
 * lock. Why: ADR 0090.
 */
export async function startForwarding(call: ForwardingCall): Promise<Forwarding> {
  const { home, clock = systemClock, osUser } = call;
  if (!existsSync(certPaths(home).caCert))
    throw new WritError("CONFIG_INVALID", `--home: no hub has run in ${home}; name the home of the old hub`);
  const settings = await loadHubSettings(call);
  const to = checkedAddresses(call.to, settings);
  const toGrpc = checkedGrpc(call.toGrpc, to);
  const tls = await openHubTls(
    home,
    settings,
    certificateRequest(settings, { osUser, nowMs: clock.nowMs() }),
  );
  const question = randomUUID();
  /** The option whose address turned out to lead to this forwarder. */
  let itself: "--to" | "--to-grpc" | undefined;
  const tell = tellMoved(to, clock);
  const listener: Listener = (incoming, outgoing) => {
    if (incoming.headers[questionHeader] === question) itself = "--to";
    return tell(incoming, outgoing);
  };
  const shown = tls.given ?? tls.own;
  const http = new HttpServer(listener, { settings, clock, onAddressLimit: () => {} }, shown);
  const onCall = (headers: IncomingHttpHeaders): void => {
    if (headers[questionHeader] === question) itself ??= "--to-grpc";
  };
  const rpc = new ForwardingRpc({ settings, clock }, { pair: tls.own, to, toGrpc, onCall });
  const ports = [together("ports", [http, rpc])];
  await startAll(ports);
  const grpcCa = readFileSync(certPaths(home).caCert, "utf8");
  const httpCa = tls.given === null ? grpcCa : undefined;
  const { url } = http;
  try {
    const headers = { [questionHeader]: question };
    const warnings = await checkNewHub({ to, toGrpc, httpCa, grpcCa, ownCert: shown.certPem, headers });
    if (itself === undefined) return { url, grpcPort: rpc.port, to, warnings, stop: () => stopAll(ports) };
    const [given, old] = itself === "--to" ? [call.to, url] : [toGrpc, `the gRPC port ${rpc.port} of ${url}`];
    const problem = `${itself}: ${given} leads to ${old}, the old address; name that of the new hub`;
    throw new WritError("CONFIG_INVALID", problem);
  } catch (error) {
    await stopAll(ports);
    throw error;
  }
}

/** Uses the rule of the callers, so that the forwarder announces no address that they would refuse. */
function checkedAddresses(text: string, settings: HubSettings): string[] {
  const own = new URL(urlOf(settings, settings.port));
  return checked("--to", () => {
    const to = readMovedTo(text, own);
    if (!to.includes(own.origin)) return to;
    throw new WritError("CONFIG_INVALID", `${own.origin} is the old address; name that of the new hub`);
  });
}

function checkedGrpc(text: string | undefined, to: readonly string[]): string {
  if (text === undefined)
    return to.map((address) => `${new URL(address).hostname}:${grpcPortDefault}`).join();
  return checked("--to-grpc", () => {
    parseGrpcAddresses(text);
    return text;
  });
}

function checked<T>(option: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    throw new WritError("CONFIG_INVALID", `${option}: ${error.message}`);
  }
}
