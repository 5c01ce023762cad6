import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { factsOf, type Generation, generations, optionsOf, textOf } from "../support/mcp.ts";
import { runCli } from "../support/run-cli.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll, startedForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

const hub = hubForAll({ WRIT_MCP: "run,cancel" });
startedForAll(() => startTestWorker(hub));
const root = join(import.meta.dirname, "../..");

type Opened = { client: Client; stderr: () => string };

async function overStdio(
  generation: Generation,
  args: string[] = ["--allow", "run,cancel"],
): Promise<Opened> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "src/cli/writ.ts"), "mcp", ...args],
    env: { WRIT_HOME: hub.home },
    stderr: "pipe",
  });
  let text = "";
  transport.stderr?.on("data", (piece) => {
    text += piece;
  });
  return { client: await connected(transport, generation), stderr: () => text };
}

async function overHttp(generation: Generation): Promise<Opened> {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "ann" });
  const transport = new StreamableHTTPClientTransport(new URL("/mcp", hub.url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  return { client: await connected(transport, generation), stderr: () => "" };
}

async function connected(
  transport: StdioClientTransport | StreamableHTTPClientTransport,
  generation: Generation,
): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, optionsOf(generation, false));
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Its end is the only thing that matters, and it is far behind what one answer can hold. */
const longLog = ["sh", "-c", "seq 1 20000; echo 'at the end: 4711'; echo oops >&2; exit 3"];

describe.each([
  { how: "stdio", open: overStdio },
  { how: "HTTP", open: overHttp },
])("the official client over $how", ({ open }) => {
  test.each(Object.keys(generations) as Generation[])(
    "by %s: submits, waits, reads the end of a long log, and cancels",
    async (generation) => {
      const { client, stderr } = await open(generation);
      const call = async (name: string, args: Record<string, unknown>) =>
        client.callTool({ name, arguments: args });
      const { job_id: id } = factsOf(await call("run_job", { command: longLog }));
      const ended = await call("wait_job", { job_id: id });
      expect(factsOf(ended)).toMatchObject({ status: "failed", exit_code: 3, ended: true });
      expect(textOf(ended)).toContain("oops");
      const log = textOf(await call("read_output", { job_id: id }));
      expect(log).toMatch(/\nat the end: 4711\n\n<\/untrusted-/);
      expect(log.length).toBeLessThan(20_500);
      expect(textOf(await call("read_output", { job_id: id, grep: "4711" }))).toContain(": at the end: 4711");
      expect(textOf(await call("read_output", { job_id: id, offset: 0, bytes: 4 }))).toContain(
        "\n1\n2\n\n</",
      );
      const empty = await call("read_output", { job_id: id, attempt: 2 });
      expect(textOf(empty)).toContain("NOT_FOUND");

      const { job_id: second } = factsOf(await call("run_job", { command: ["sleep", "3600"] }));
      await call("wait_job", { job_id: second, timeout_sec: 1 });
      await call("cancel_job", { job_id: second });
      const stopped = factsOf(await call("wait_job", { job_id: second }));
      expect(stopped).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
      expect(stderr()).toBe("");
    },
  );
});

describe("writ mcp", () => {
  test("takes no token from its arguments, where every process could read it", async () => {
    const { code, stderr, stdout } = await runCli("writ", ["mcp", "--token", "sk_user_secret"], {
      env: { WRIT_HOME: hub.home },
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("--token: not here, where every process could read it");
    expect(stderr).not.toContain("sk_user_secret");
  });

  test("allows only acts that exist", async () => {
    const { code, stderr } = await runCli("writ", ["mcp", "--allow", "run,approve"], {
      env: { WRIT_HOME: hub.home },
    });
    expect(code).toBe(2);
    expect(stderr).toContain("run, delegate, cancel, or several of them separated by commas");
  });

  test("only reads by default, and says how more is allowed", async () => {
    const { client } = await overStdio("2025-11-25", []);
    const { tools } = await client.listTools();
    expect(tools.map(({ annotations }) => annotations?.readOnlyHint)).toEqual([true, true, true, true, true]);
    await expect(client.callTool({ name: "run_job", arguments: { command: ["true"] } })).rejects.toThrow(
      "run_job is not allowed: `writ mcp` was not started with it in --allow",
    );
  });

  test("answers with the trouble when no hub can be reached, and ends when its client does", async () => {
    const { client } = await overStdio("2025-11-25", ["--hub", "http://127.0.0.1:9"]);
    const answer = await client.callTool({ name: "list_jobs", arguments: {} });
    expect(answer).toMatchObject({ isError: true });
    expect(textOf(answer)).toMatch(/^HUB_UNREACHABLE: /);
    await client.close();
  });
});

test.each([
  { how: "stdio", open: overStdio },
  { how: "HTTP", open: overHttp },
])("a diff is shown over $how with every character that could hide something", async ({ open }) => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "ann" });
  const write = "printf -- '-old \\033[31m\\n+new\\n' > $JOB_OUTPUT_DIR/changes.diff";
  const body = { command: ["sh", "-c", write], collect: ["**"] };
  const { id } = (await hub.must("POST", "/jobs/start", { token, body })).json<{ id: string }>();
  const { client } = await open("2025-11-25");
  const ended = await client.callTool({ name: "wait_job", arguments: { job_id: id } });
  expect(factsOf(ended)).toMatchObject({ status: "completed" });
  const read = async (args = {}) =>
    textOf(await client.callTool({ name: "get_diff", arguments: { job_id: id, ...args } }));
  expect(await read()).toContain("\n-old \\x1b[31m\n+new\n");
  expect(await read({ offset: 14 })).toContain("\n+new\n");
});
