/**
 * A host that the operator of a worker allows beside the public ones, as `HOST` or `HOST:PORT`. Downloads may use http as
 * well as https there, and its addresses may be private. Without a port only the usual one of each scheme is allowed.
 */
export type AllowedHost = { host: string; port: number | null };

const form = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/?#@*[\]\\]+)(?::(\d{1,5}))?$/;

/** Null if the text is not a host name or address, with or without a port. An IPv6 address is written in brackets. */
export function parseAllowedHost(text: string): AllowedHost | null {
  const [, name = "", port] = form.exec(text) ?? [];
  const url = URL.parse(`https://${name}/`);
  const number = port === undefined ? null : Number(port);
  if (name === "" || url === null || number === 0 || (number ?? 0) > 65_535) return null;
  return { host: hostOf(url), port: number };
}

export function isAllowedHost(url: URL, allowed: readonly AllowedHost[]): boolean {
  const host = hostOf(url);
  return allowed.some((entry) => entry.host === host && isPortOf(url, entry.port));
}

function isPortOf(url: URL, port: number | null): boolean {
  if (port === null) return url.port === "";
  const usual = url.protocol === "https:" ? 443 : 80;
  return port === (url.port === "" ? usual : Number(url.port));
}

/** The parser has already written it in lower case, and addresses in one form; `localhost.` is `localhost`. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}
