import { createHash } from "node:crypto";
import type { Route } from "../../contract/route.ts";
import { routes } from "../../contract/routes.ts";
import { schemaOf, whoMay } from "./openapi.ts";

const style = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --ink: #4667c8; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h1 + p { margin-top: 0; opacity: .75; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; padding: .5rem .9rem; }
summary { cursor: pointer; } summary code { font-weight: 600; }
.method { display: inline-block; min-width: 4.5rem; color: var(--ink); font-weight: 700; font-family: ui-monospace, monospace; }
pre { background: var(--soft); padding: .7rem; border-radius: 6px; overflow: auto; font-size: 13px; }
.who { opacity: .75; } a { color: var(--ink); }
`;

/** The styles are the only inline content, and the policy lists them by hash: no script runs on these pages. */
export const pageHeaders: Record<string, string> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

export function welcomePage(version: string): string {
  return page(
    "Writ",
    `<h1>Writ</h1><p>This hub runs version ${escapeHtml(version)}.</p>
<p><a href="/api/docs">API reference</a> · <a href="/api/openapi.json">OpenAPI</a> · <a href="/healthz">health</a></p>
<p>From a terminal: <code>bin/jobctl list</code>, <code>bin/jobctl workers</code>, <code>bin/jobctl submit --help</code>.</p>`,
  );
}

/** The reference: every route with its roles, shapes and responses. */
export function referencePage(version: string): string {
  const rows = Object.entries(routes) as [string, Route][];
  return page(
    "Writ API",
    `<h1>Writ API</h1><p>Version ${escapeHtml(version)}, below <code>/api/v1</code>. As data: <a href="/api/openapi.json">openapi.json</a>.
Send <code>Authorization: Bearer &lt;token&gt;</code>. Errors are <code>{"error":{"code","message","details"?,"request_id"}}</code>.</p>
${rows.map(([name, route]) => entry(name, route)).join("\n")}`,
  );
}

function entry(name: string, route: Route): string {
  const shapes = [
    shape("Path", route.params),
    shape("Query", route.query),
    shape("Body", route.body),
    route.bodyKind === "bytes" ? "<h4>Body</h4><p>Raw bytes.</p>" : "",
  ];
  const answers = Object.entries(route.answers).map(
    ([status, answer]) => `<li><code>${status}</code> ${escapeHtml(answer.description)}</li>`,
  );
  return `<details id="${name}"><summary><span class="method">${route.method}</span> <code>${escapeHtml(route.path)}</code> ${escapeHtml(route.summary)}</summary>
<p class="who">${escapeHtml(whoMay(route))}</p>${shapes.join("")}<h4>Answers</h4><ul>${answers.join("")}</ul></details>`;
}

function shape(title: string, schema: Route["body"]): string {
  if (schema === undefined) return "";
  return `<h4>${title}</h4><pre>${escapeHtml(JSON.stringify(schemaOf(schema, "input"), null, 2))}</pre>`;
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>${body}</body></html>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
