import { createHash } from "node:crypto";
import { apiPrefixes } from "../api-prefixes.ts";
import type { Endpoint } from "../app.ts";
import type { HttpDeps } from "../call.ts";
import type { Exchange } from "../exchange.ts";
import { loadReference } from "../reference/load-reference.ts";
import type { ReferenceFiles } from "../reference/reference-files.ts";
import type { Reply } from "../reply.ts";
import type { Router } from "../router.ts";
import { addDashboard } from "./dashboard.ts";
import { addDocs } from "./docs.ts";
import { escapeHtml, htmlPage } from "./html.ts";

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
a { color: #4667c8; }
`;

const noStrangers = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const safe = { "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer" };
const html = { ...safe, "Content-Type": "text/html; charset=utf-8" };

/** The style is the only inline content, and the policy lists it by hash: no script runs on this page. */
const plainHeaders = {
  ...html,
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; ${noStrangers}`,
};

/** Nothing is inline: the page has one style and one script, both of them files of this hub. */
const referenceHeaders = {
  ...html,
  "Content-Security-Policy": `default-src 'none'; style-src 'self'; script-src 'self'; ${noStrangers}`,
};

/**
 * Serves the pages of the hub and the reference of its API. Returns the answer for a browser where there is no page.
 */
export function addPages(
  router: Router<Endpoint>,
  { version, objects }: Pick<HttpDeps, "version" | "objects">,
): (exchange: Exchange) => Reply | null {
  const imageOrigin = objects.servedBy === "store" ? objects.origin : null;
  const reference = atFirstUse(() => loadReference(version));
  const orElse = () => ({ status: 200, headers: plainHeaders, body: plainPage(version) });
  addDocs(router);
  const answerReader = addDashboard(router, { orElse, imageOrigin });
  const serve = (path: string, file: keyof ReferenceFiles, headers: Record<string, string>) => {
    const reply = () => ({ status: 200, headers, body: reference()[file] });
    for (const prefix of apiPrefixes) router.add("GET", `${prefix}${path}`, reply);
  };
  serve("/docs", "page", referenceHeaders);
  serve("/docs/reference.css", "style", { ...safe, "Content-Type": "text/css; charset=utf-8" });
  serve("/docs/reference.js", "script", { ...safe, "Content-Type": "text/javascript; charset=utf-8" });
  serve("/openapi.json", "openApi", { ...safe, "Content-Type": "application/json" });
  return answerReader;
}

/** For a checkout whose dashboard was not built. */
function plainPage(version: string): string {
  return htmlPage({
    title: "Writ",
    head: `<style>${style}</style>`,
    body: `<h1>Writ</h1><p>This hub runs version ${escapeHtml(version)}. Its dashboard has not been built:
run <code>npm run setup</code>, then start the hub again.</p>
<p><a href="/api/docs">API reference</a> · <a href="/api/openapi.json">OpenAPI</a> · <a href="/healthz">health</a></p>
<p>From a terminal: <code>bin/jobctl list</code>, <code>bin/jobctl workers</code>, <code>bin/jobctl submit --help</code>.</p>`,
  });
}

function atFirstUse<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
