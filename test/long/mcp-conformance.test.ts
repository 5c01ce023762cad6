import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installInto } from "../agents/install-agent.ts";
import { root } from "../docs/page.ts";
import { hubForAll, startedForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

/** The first version that judges the protocol of 2026-07-28 and its extensions. */
const suite = "@modelcontextprotocol/conformance";
const version = "0.2.0-alpha.12";
const dir = join(root, "node_modules/.writ/agents", `mcp-conformance-${version}`);

const hub = hubForAll({ WRIT_MCP: "run,delegate,cancel" });
startedForAll(() => startTestWorker(hub));
let proxy: Server;

beforeAll(async () => {
  if (!existsSync(dir)) installInto(dir, `${suite}@${version}`);
  proxy = createServer((incoming, outgoing) => {
    const pieces: Buffer[] = [];
    incoming.on("data", (piece: Buffer) => pieces.push(piece));
    incoming.on("end", () => {
      const { headers, body } = played(incoming.headers, Buffer.concat(pieces));
      const { method, url: path } = incoming;
      const target = { host: "127.0.0.1", port: hub.port, method, path, headers };
      const forwarded = request(target, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.end(body);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
}, 300_000);
afterAll(() => proxy.close());

/** Tools that the suite expects, as tools of ours that behave as it says. */
const parts: Record<string, (args: { seconds?: number }) => [name: string, args: object]> = {
  slow_compute: ({ seconds = 1 }) => ["run_job", { command: ["sleep", String(seconds)] }],
  failing_job: () => ["run_job", { command: ["false"] }],
};

/** The suite sends no token, and has its own names for tools. Everything else goes on as it came. */
function played(given: Record<string, unknown>, body: Buffer) {
  const headers = { ...given, authorization: `Bearer ${hub.admin}` } as Record<string, string>;
  const message = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  const part = message.method === "tools/call" ? parts[message.params?.name] : undefined;
  if (part === undefined) return { headers, body };
  const [name, args] = part(message.params.arguments ?? {});
  if (headers["mcp-name"] === message.params.name) headers["mcp-name"] = name;
  Object.assign(message.params, { name, arguments: args });
  const changed = Buffer.from(JSON.stringify(message));
  return { headers: { ...headers, "content-length": String(changed.length) }, body: changed };
}

/**
 * What the suite can judge of this server. The other scenarios call tools, prompts or resources of its own example server, ask for what
 * tools of ours never do (progress, logging, sampling, elicitation, subscriptions), or for all tools of that example in the list.
 */
test.each([
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "dns-rebinding-protection",
  "http-header-validation",
  "sep-2164-resource-not-found",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-capability-negotiation",
])("the public conformance suite passes: %s", async (scenario) => {
  const { port } = proxy.address() as AddressInfo;
  const program = join(dir, "node_modules", suite, "dist/index.js");
  const args = [program, "server", "--url", `http://127.0.0.1:${port}/mcp`, "--scenario", scenario];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 }).catch(
    (error: { stdout?: string; message: string }) => {
      throw new Error(`${scenario}: ${error.message}\n${error.stdout ?? ""}`);
    },
  );
  expect(stdout).toContain("SUCCESS");
  expect(stdout).not.toContain("FAILURE");
});
