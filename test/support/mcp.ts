import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { tasksExtension } from "../../src/mcp/tasks.ts";
import { type Answer, type CallOptions, callHttp } from "./call-http.ts";
import type { TestHub } from "./hub.ts";

/** What clients of either generation of the protocol speak. */
export const generations = {
  "2025-11-25": { mode: "legacy" },
  "2026-07-28": { mode: { pin: "2026-07-28" } },
} as const;
export type Generation = keyof typeof generations;

export const withTasks = { extensions: { [tasksExtension]: {} } } as const;

/** One message over HTTP, as any program may send it. */
export function sendMcp(hub: TestHub, message: unknown, options: CallOptions = {}): Promise<Answer> {
  const headers = { Accept: "application/json, text/event-stream", ...options.headers };
  const target = { method: "POST", port: hub.port, path: "/mcp" };
  return callHttp(hub.agent, target, { ...options, headers, body: message });
}

/** A call of a tool by a client that speaks the older generation, which needs no handshake here. */
export function toolCall(name: string, args: Record<string, unknown> = {}, id = 1) {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

/** The official client, connected to this hub with this token. */
export async function mcpClient(
  hub: TestHub,
  token: string,
  { generation = "2025-11-25", tasks = false }: { generation?: Generation; tasks?: boolean } = {},
): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, optionsOf(generation, tasks));
  const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1:3000/mcp"), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
    fetch: (_url, init) => fetchFrom(hub, init),
  });
  await client.connect(transport);
  return client;
}

export function optionsOf(generation: Generation, tasks: boolean): ClientOptions {
  return {
    versionNegotiation: generations[generation],
    capabilities: tasks ? withTasks : {},
  };
}

/** The hub of a test may have no port. */
async function fetchFrom(hub: TestHub, init: RequestInit = {}): Promise<Response> {
  const headers = Object.fromEntries(new Headers(init.headers));
  const target = { method: init.method ?? "GET", port: hub.port, path: "/mcp" };
  const signal = init.signal ?? undefined;
  const answer = await callHttp(hub.agent, target, { headers, body: init.body ?? undefined, signal });
  const body = answer.bytes.length === 0 ? null : new Uint8Array(answer.bytes);
  return new Response(body, { status: answer.status, headers: new Headers(flat(answer.headers)) });
}

function flat(headers: Answer["headers"]): [string, string][] {
  return Object.entries(headers).map(([name, value]) => [name, [value].flat().join(", ")]);
}

type Result = { content?: unknown; isError?: boolean | undefined };

/** All texts of a tool's answer. */
export function textOf({ content }: Result): string {
  return (content as { text: string }[]).map(({ text }) => text).join("\n");
}

/** The facts that a tool's answer begins with. */
export function factsOf(result: Result): Record<string, unknown> {
  return JSON.parse((result.content as { text: string }[])[0]!.text);
}
