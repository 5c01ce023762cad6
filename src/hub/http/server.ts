import { readFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { WritError } from "../../core/errors.ts";
import type { HubSettings } from "../settings.ts";
import type { HttpEnv } from "./call.ts";

export type HttpServer = { url: string; port: number; stop(): Promise<void> };

const loopbackHosts = ["127.0.0.1", "::1", "localhost"];
/** A request must be in within a minute, its headers within ten seconds: slow senders hold no connection for ever. */
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
/** Longer than the keep-alive of the usual proxies, so that they and not we close idle connections. */
const keepAliveMs = 75_000;

/** Listens. TLS 1.3 when others than this machine can reach it, unless a proxy in front was announced. */
export async function startHttpServer(app: Hono<HttpEnv>, settings: HubSettings): Promise<HttpServer> {
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const listener: typeof answer = (incoming, outgoing) => {
    // A client that calls again and again on one connection would otherwise keep a stopping hub busy.
    if (!server.listening) (outgoing as ServerResponse).shouldKeepAlive = false;
    return answer(incoming, outgoing);
  };
  const tls = await tlsFiles(settings);
  const options = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  };
  const server: Server =
    tls === null
      ? createServer(options, listener)
      : createTlsServer({ ...options, ...tls, minVersion: "TLSv1.3" }, listener);
  await listen(server, settings);
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host;
  return {
    port,
    url: settings.publicUrl ?? `${tls === null ? "http" : "https"}://${host}:${port}`,
    stop: () => close(server),
  };
}

async function tlsFiles(settings: HubSettings): Promise<{ cert: Buffer; key: Buffer } | null> {
  const { tlsCert, tlsKey, host, plaintext } = settings;
  if (tlsCert !== null && tlsKey !== null)
    return { cert: await readFile(tlsCert), key: await readFile(tlsKey) };
  if (loopbackHosts.includes(host) || plaintext) return null;
  throw new WritError(
    "CONFIG_INVALID",
    `WRIT_HOST = ${host} can be reached from outside: give WRIT_TLS_CERT and WRIT_TLS_KEY, or WRIT_PLAINTEXT=true behind a proxy`,
  );
}

function listen(server: Server, settings: HubSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(cannotListen(error, settings)));
    server.listen(settings.port, settings.host, resolve);
  });
}

function cannotListen(error: NodeJS.ErrnoException, { port, host }: HubSettings): WritError {
  const advice =
    error.code === "EADDRINUSE" ? "it is in use; choose another with --port or PORT" : error.message;
  return new WritError("CONFIG_INVALID", `cannot listen on ${host}:${port}: ${advice}`);
}

/** Open calls may end; idle connections are closed at once. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), stopGraceMs).unref();
  });
}

const stopGraceMs = 3_000;
