import { escapeHtml, htmlPage } from "../pages/html.ts";
import { fieldTable } from "./field-table.ts";
import type { OpenApi, Operation, Parameter, Response } from "./openapi.ts";
import type { Schema } from "./schema-of.ts";

/** The reference as one static page: every route in its group, with fields, examples and responses. */
export function referencePage(document: OpenApi, version: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = document.tags.map(({ name, description }) => {
    const entries = operations.filter(({ operation }) => operation.tags.includes(name));
    const shown = entries.map((entry) => operationEntry(document, entry)).join("\n");
    return `<section id="${idOf(name)}"><h2>${escapeHtml(name)}</h2><p>${escapeHtml(description)}</p>${shown}</section>`;
  });
  const links = document.tags.map(({ name }) => `<a href="#${idOf(name)}">${escapeHtml(name)}</a>`).join("");
  const head =
    '<link rel="stylesheet" href="/api/docs/reference.css"><script src="/api/docs/reference.js" defer></script>';
  return htmlPage({
    title: "Writ API",
    head,
    body: `<header><h1>Writ API</h1><p>Version ${escapeHtml(version)}, below <code>/api/v1</code>. As data: <a href="/api/openapi.json">openapi.json</a>.
Send <code>Authorization: Bearer &lt;token&gt;</code>. Errors are <code>{"error":{"code","message","details"?,"request_id"}}</code>.</p>
<input type="search" placeholder="Search routes, fields and codes" aria-label="Search"> <span id="count" role="status"></span>
<nav>${links}</nav></header>
<main>${groups.join("\n")}</main>`,
  });
}

type Entry = { method: string; path: string; operation: Operation };

function operationEntry(document: OpenApi, { method, path, operation }: Entry): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const answers = Object.entries(responses).map(([status, response]) =>
    responseEntry(status, resolved(document, response)),
  );
  return `<details id="${operationId}"><summary><span class="method">${method}</span> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>
<p class="note">${escapeHtml(description)}</p>${parameterTable(parameters)}${bodyEntry(requestBody)}
<h4>Responses</h4>${answers.join("")}</details>`;
}

function parameterTable(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return "";
  const properties = parameters.map(({ name, in: place, schema, description }): [string, Schema] => [
    name,
    { ...schema, description: [`In the ${place}.`, description ?? schema.description].join(" ").trim() },
  ]);
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  const schema = { type: "object", properties: Object.fromEntries(properties), required };
  return `<h4>Parameters</h4>${fieldTable(schema)}`;
}

function bodyEntry(body: Operation["requestBody"]): string {
  if (body === undefined) return "";
  const [[type, { schema, example }] = ["", {} as { schema?: Schema; example?: unknown }]] = Object.entries(
    body.content,
  );
  const fields = schema === undefined ? "<p>Raw bytes.</p>" : fieldTable(schema);
  return `<h4>Body <span class="note">${escapeHtml(type)}</span></h4>${fields}${exampleBlock(example)}`;
}

function responseEntry(status: string, response: Response) {
  const headers = Object.entries(response.headers ?? {}).map(
    ([name, { description }]) => `<br><code>${escapeHtml(name)}</code>: ${marked(description)}`,
  );
  const head = `<p><code>${status}</code> ${marked(response.description ?? "")}${headers.join("")}</p>`;
  // The error is the same everywhere; the page explains it once.
  if (Number(status) >= 400) return head;
  const [content] = Object.values(response.content ?? {});
  if (content?.schema?.properties === undefined && content?.schema?.items === undefined) return head;
  return `${head}${fieldTable(content.schema)}${exampleBlock(content.example)}`;
}

function resolved(document: OpenApi, response: Response): Response {
  if (response.$ref === undefined) return response;
  const { responses } = document["components"] as { responses: Record<string, Response> };
  return responses[response.$ref.split("/").at(-1)!]!;
}

function exampleBlock(example: unknown): string {
  return example === undefined ? "" : `<pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>`;
}

/** Only the code marks of Markdown occur in the contract. */
function marked(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, "<code>$1</code>");
}

function idOf(group: string): string {
  return group.toLowerCase().replaceAll(" ", "-");
}
