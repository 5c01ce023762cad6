import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { WritError } from "../../core/errors.ts";
import type { Origin } from "../../core/events.ts";
import type { HubDeps } from "../deps.ts";
import type { HubSettings } from "../settings/settings.ts";
import type { Credentials } from "../use-cases/access/authenticate.ts";
import { headerValues, type RequestHead } from "./exchange.ts";

/** The session in which a page was opened. It is no secret. */
export const sessionHeader = "writ-session";

type CookieDeps = Pick<HubDeps, "databaseId">;

/**
 * The name of the session cookie. A browser sends a cookie to all ports of a host, so hubs on one machine need names of
 * their own. Hubs on one database share their sessions, and so the name.
 */
export function sessionCookieOf({ databaseId }: CookieDeps): string {
  return `writ_session_${createHash("sha256").update(databaseId).digest("hex").slice(0, 8)}`;
}

/** The caller's credentials. A header that is not exactly one bearer token counts as a wrong token, never as none. */
export function credentialsOf(deps: CookieDeps, incoming: RequestHead): Credentials {
  const given = headerValues(incoming, "authorization");
  if (given.length === 0) return { bearer: null, session: sessionSecretOf(deps, incoming) };
  const match = given.length === 1 ? /^Bearer ([\x21-\x7e]{1,8192})$/.exec(given[0]!) : null;
  return { bearer: match?.[1] ?? "", session: null };
}

/** The secret in the session cookie, even if a token was sent too. */
export function sessionSecretOf(deps: CookieDeps, { headers }: RequestHead): string | null {
  if (headers.cookie === undefined) return null;
  const start = `${sessionCookieOf(deps)}=`;
  const cookies = headers.cookie.split(";");
  const own = cookies.map((cookie) => cookie.trim()).find((cookie) => cookie.startsWith(start));
  return own?.slice(start.length) || null;
}

/**
 * A browser sends its cookie by itself, so another site's page could act for the person. The cookie is SameSite=Strict;
 * in addition a change must come from the hub's own page, under one of the hub's host names.
 */
export function checkBrowser(incoming: RequestHead, settings: HubSettings): void {
  checkSite(incoming, settings);
  const origin = incoming.headers.origin;
  const isChange = incoming.method !== "GET" && incoming.method !== "HEAD";
  if (isChange && origin === undefined && incoming.headers["sec-fetch-site"] !== "same-origin") {
    throw refused("a change with a session cookie must come from the hub's own page");
  }
}

/** Refuses a page of another site, also one whose name leads to this machine for a moment. */
export function checkSite(incoming: RequestHead, settings: HubSettings): void {
  const host = hostOf(incoming.headers.host);
  if (!ownHosts(settings).has(host)) throw refused(`${host} is not a host name of this hub`);
  const origin = incoming.headers.origin;
  if (origin !== undefined && !isOwnOrigin(origin, incoming, settings))
    throw refused("the request comes from another site");
}

function refused(why: string): WritError {
  return new WritError("PERMISSION_DENIED", why);
}

function ownHosts(settings: HubSettings): Set<string> {
  const own = ["localhost", "127.0.0.1", "[::1]", settings.host];
  if (settings.publicUrl !== null) own.push(new URL(settings.publicUrl).hostname);
  return new Set(own);
}

function hostOf(host: string | undefined): string {
  return (host ?? "").replace(/:\d+$/, "").toLowerCase();
}

/** Compares the port too: other services on this machine receive the same cookies, and must not be able to use them. */
function isOwnOrigin(origin: string, incoming: RequestHead, settings: HubSettings): boolean {
  if (!URL.canParse(origin)) return false;
  if (settings.publicUrl !== null && origin === new URL(settings.publicUrl).origin) return true;
  return new URL(origin).host === incoming.headers.host?.toLowerCase();
}

/** The hub's public address: the setting, or the address that this caller has used. */
export function hubUrlOf(incoming: RequestHead, { publicUrl, host }: HubSettings): string {
  if (publicUrl !== null) return new URL(publicUrl).origin;
  const scheme = "encrypted" in incoming.socket ? "https" : "http";
  return `${scheme}://${incoming.headers.host ?? host}`;
}

export function originOf(
  incoming: RequestHead,
  settings: HubSettings,
  request: { method: string; endpoint: string },
): Origin {
  return {
    userId: null,
    ipAddress: addressOf(incoming, settings),
    userAgent: incoming.headers["user-agent"]?.slice(0, userAgentCharsMax) ?? null,
    endpoint: request.endpoint,
    method: request.method,
  };
}

const userAgentCharsMax = 200;

/** A forwarded address is used only if the proxy that forwards it is trusted. */
function addressOf(incoming: RequestHead, settings: HubSettings): string | null {
  const peer = incoming.socket.remoteAddress?.replace(/^::ffff:/, "") ?? null;
  const trusted = settings.trustedProxies?.split(",").map((address) => address.trim()) ?? [];
  if (peer === null || !trusted.includes(peer)) return peer;
  const forwarded = incoming.headers["x-forwarded-for"];
  const last = [forwarded].flat().join(",").split(",").at(-1)?.trim() ?? "";
  return isIP(last) === 0 ? peer : last;
}
