import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { pagePaths } from "../../../contract/page-paths.ts";
import { builtFiles } from "../../../runtime/built-files.ts";
import type { Endpoint } from "../app.ts";
import { type Exchange, headerOf } from "../exchange.ts";
import { noSuchPath } from "../refuse.ts";
import type { Reply } from "../reply.ts";
import type { Router } from "../router.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const safe = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

/**
 * Scripts and styles are files of this hub, nothing is inline, and Trusted Types make the browser refuse to turn text
 * into markup. Pictures that jobs have stored come from the hub too, or from exactly the object store that it uses.
 */
function policyFor(imageOrigin: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    imageOrigin === null ? "img-src 'self'" : `img-src 'self' ${imageOrigin}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

type BuiltFile = { bytes: Uint8Array<ArrayBuffer>; compressed: Uint8Array<ArrayBuffer> | null; type: string };

/**
 * Serves the dashboard: its files by name, and the same document at the address of every page. Returns the answer for
 * an address that does not exist: that document too, which says so, or null if the caller is a program. Why: ADR 0046.
 */
export function addDashboard(
  router: Router<Endpoint>,
  { orElse, imageOrigin }: { orElse: () => Reply; imageOrigin: string | null },
  folder: string = builtFiles.dashboard,
): (exchange: Exchange) => Reply | null {
  const policy = policyFor(imageOrigin);
  let files: Map<string, BuiltFile> | undefined;
  const find = (name: string): BuiltFile | undefined => {
    files ??= readBuilt(folder);
    return files.get(name);
  };
  const pageReply = (exchange: Exchange, status: number): Reply | null => {
    const page = find("index.html");
    if (page === undefined) return null;
    // The names in it change with each build, so the browser must revalidate it.
    const headers = { "Content-Security-Policy": policy, "Cache-Control": "no-cache" };
    return fileReply(exchange, page, { headers, status });
  };
  for (const path of pagePaths) router.add("GET", path, (exchange) => pageReply(exchange, 200) ?? orElse());
  router.add("GET", "/assets/:name", (exchange, { name }) => {
    const file = find(`assets/${name}`);
    if (file === undefined) throw noSuchPath();
    // A name contains a hash of the content, so the content never changes.
    const headers = { "Cache-Control": "public, max-age=31536000, immutable" };
    return fileReply(exchange, file, { headers, status: 200 });
  });
  return (exchange) => (isForReader(exchange) ? pageReply(exchange, 404) : null);
}

/** Whether a person waits for a page. Programs read the API, whose errors are always JSON. */
function isForReader(exchange: Exchange): boolean {
  const isPage = !/^\/(api|assets)(\/|$)/.test(exchange.path);
  const accepted = headerOf(exchange, "accept") ?? "";
  return isPage && exchange.incoming.method === "GET" && /\btext\/html\b/.test(accepted);
}

function fileReply(
  exchange: Exchange,
  file: BuiltFile,
  { headers, status }: { headers: Record<string, string>; status: number },
): Reply {
  const accepts = /\bgzip\b/.test(headerOf(exchange, "accept-encoding") ?? "");
  const compressed = accepts ? file.compressed : null;
  return {
    status,
    headers: {
      ...safe,
      ...headers,
      ...(compressed === null ? {} : { "Content-Encoding": "gzip" }),
      Vary: "Accept-Encoding",
      "Content-Type": file.type,
    },
    body: compressed ?? file.bytes,
  };
}

/** All files, read once at the first request: less than a megabyte. */
function readBuilt(folder: string): Map<string, BuiltFile> {
  const files = new Map<string, BuiltFile>();
  if (!existsSync(folder)) return files;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const compressed = existsSync(`${path}.gz`) ? new Uint8Array(readFileSync(`${path}.gz`)) : null;
    files.set(relative(folder, path), { bytes: new Uint8Array(readFileSync(path)), compressed, type });
  }
  return files;
}
