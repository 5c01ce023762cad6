import { readFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import { WritError } from "../../core/errors.ts";
import { isLoopback } from "../../runtime/hub-address.ts";
import { strictTls } from "../../runtime/tls.ts";
import type { KeyPair } from "../certs/make-certificate.ts";
import type { HubSettings } from "../settings.ts";
import type { HttpEnv } from "./call.ts";

export type HttpServer = { url: string; port: number; stop(): Promise<void> };

/** A request must be in within a minute, its headers within ten seconds: slow senders hold no connection for ever. */
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
/** Longer than the keep-alive of the usual proxies, so that they and not we close idle connections. */
const keepAliveMs = 75_000;

/**
 * Listens. TLS 1.3 when others than this machine can reach it, unless a proxy in front was announced; with the
 * home's own certificate unless another was given.
 */
export async function startHttpServer(
  app: Hono<HttpEnv>,
  settings: HubSettings,
  own: KeyPair,
): Promise<HttpServer> {
  const answer = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const listener: typeof answer = (incoming, outgoing) => {
    // A client that calls again and again on one connection would otherwise keep a stopping hub busy.
    if (!server.listening) (outgoing as ServerResponse).shouldKeepAlive = false;
    return answer(incoming, outgoing);
  };
  const tls = await tlsPair(settings, own);
  const options = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: keepAliveMs,
  };
  const server: Server =
    tls === null
      ? createServer(options, listener)
      : createTlsServer({ ...options, ...tls, ...strictTls }, listener);
  await listen(server, settings);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: urlOf(settings, port),
    stop: () => close(server),
  };
}

/** The address under which a hub with these settings is reached. */
export function urlOf(settings: HubSettings, port: number): string {
  const scheme = speaksTls(settings) ? "https" : "http";
  return settings.publicUrl ?? `${scheme}://${reachableHost(settings.host)}:${port}`;
}

function speaksTls({ tlsCert, host, plaintext }: HubSettings): boolean {
  return tlsCert !== null || !(isLoopback(host) || plaintext);
}

/** An address for all interfaces is nobody's address; from here the hub is reached by loopback. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

type TlsPair = { cert: Buffer | string; key: Buffer | string };

async function tlsPair(settings: HubSettings, own: KeyPair): Promise<TlsPair | null> {
  const { tlsCert, tlsKey } = settings;
  if (tlsCert !== null && tlsKey !== null) {
    return { cert: await readGiven(tlsCert), key: await readGiven(tlsKey) };
  }
  if (tlsCert !== null || tlsKey !== null) {
    throw new WritError("CONFIG_INVALID", "WRIT_TLS_CERT and WRIT_TLS_KEY are given together or not at all");
  }
  return speaksTls(settings) ? { cert: own.certPem, key: own.keyPem } : null;
}

async function readGiven(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WritError("CONFIG_INVALID", `${path} cannot be read: ${code}`);
  }
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
