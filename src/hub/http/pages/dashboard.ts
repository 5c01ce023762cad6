import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import type { Hono } from "hono";
import { pagePaths } from "../../../contract/page-paths.ts";
import { builtFiles } from "../../../runtime/built-files.ts";
import type { HttpContext, HttpEnv } from "../call.ts";

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const safe = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };

/**
 * Scripts and styles are files of this hub, nothing is inline, and no text becomes markup: with Trusted Types the
 * browser refuses it even if a page tried. Pictures that jobs have stored come from the hub too, or from exactly the
 * object store that it uses.
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
 * The dashboard: its files by their names, and the same document for the address of every page. Returns what a browser is
 * answered at an address that does not exist: that document too, which says so, or null if the caller is a program.
 */
export function bindDashboard(
  app: Hono<HttpEnv>,
  { orElse, imageOrigin }: { orElse: () => Response; imageOrigin: string | null },
  folder: string = builtFiles.dashboard,
): (context: HttpContext) => Response | null {
  const policy = policyFor(imageOrigin);
  let files: Map<string, BuiltFile> | undefined;
  const find = (name: string): BuiltFile | undefined => {
    files ??= readBuilt(folder);
    return files.get(name);
  };
  const sendPage = (context: HttpContext, status: number): Response | null => {
    const page = find("index.html");
    if (page === undefined) return null;
    // The names in it change with each build, so the browser asks each time.
    const headers = { "Content-Security-Policy": policy, "Cache-Control": "no-cache" };
    return send(context, page, { headers, status });
  };
  for (const path of pagePaths) app.get(path, (context) => sendPage(context, 200) ?? orElse());
  app.get("/assets/:name", (context) => {
    const file = find(`assets/${context.req.param("name")}`);
    // A name contains a hash of the content, so the content never changes.
    if (file !== undefined)
      return send(context, file, { headers: { "Cache-Control": "public, max-age=31536000, immutable" } });
    return context.notFound();
  });
  return (context) => (isForReader(context) ? sendPage(context, 404) : null);
}

/** Whether a person waits for a page. Programs read the API, whose errors are JSON whatever they accept. */
function isForReader({ req }: HttpContext): boolean {
  const isPage = !/^\/(api|assets)(\/|$)/.test(req.path);
  return isPage && req.method === "GET" && /\btext\/html\b/.test(req.header("accept") ?? "");
}

type Reply = { headers: Record<string, string>; status?: number };

function send(context: HttpContext, file: BuiltFile, { headers, status = 200 }: Reply): Response {
  const accepts = /\bgzip\b/.test(context.req.header("accept-encoding") ?? "");
  const isCompressed = accepts && file.compressed !== null;
  return new Response(isCompressed ? file.compressed : file.bytes, {
    status,
    headers: {
      ...safe,
      ...headers,
      ...(isCompressed ? { "Content-Encoding": "gzip" } : {}),
      Vary: "Accept-Encoding",
      "Content-Type": file.type,
    },
  });
}

/** All files, read once when somebody first asks: less than a megabyte. */
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
