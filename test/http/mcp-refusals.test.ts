import { describe, expect, test } from "vitest";
import { errorOf } from "../support/call-http.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { runningJob, submitJob } from "../support/jobs.ts";
import { mcpClient, sendMcp, textOf, toolCall } from "../support/mcp.ts";
import { startMemoryHub } from "../support/memory-hub.ts";
import { memoryHubForAll, startedForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll({ ...stillEnv, WRIT_MCP: "run,delegate,cancel" });
const tokens = tokensOf(hub);
const reading = startedForAll(() => startMemoryHub({ ...stillEnv, WRIT_MCP: "read" }));
const without = startedForAll(() => startMemoryHub(stillEnv));

const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("who is let in", () => {
  test("a hub that is not set to serve tools answers as at any unknown path", async () => {
    const unknown = await sendMcp(without, list, { token: without.admin });
    expect(unknown).toMatchObject({ status: 404, code: "NOT_FOUND" });
    const other = await without.call("POST", "//nothing", { token: without.admin, body: list });
    expect(errorOf(unknown.text).message).toBe(errorOf(other.text).message);
  });

  test("without a token, and with a wrong one, there is nothing", async () => {
    expect(await sendMcp(hub, list)).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
    const wrong = await sendMcp(hub, list, { token: "sk_user_nonsense" });
    expect(wrong).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
  });

  test("the session cookie of a browser counts for nothing, also from the hub's own page", async () => {
    const login = await hub.must("POST", "/session", { body: { token: hub.admin } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0]!;
    const own = { Cookie: cookie, Origin: "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-origin" };
    expect(await hub.call("GET", "/session", { headers: own })).toMatchObject({ status: 200 });
    const headers = { ...own, Host: "127.0.0.1:3000" };
    expect(await sendMcp(hub, list, { headers })).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
  });

  test.each([
    [{ Origin: "https://evil.example" }, "another site"],
    [{ Origin: "null" }, "another site"],
    [{ Host: "evil.example" }, "evil.example is not a host name"],
    [{ Host: "rebound.example:3000", Origin: "http://rebound.example:3000" }, "rebound.example"],
  ])("a page of another site is refused although it has a token: %o", async (headers, why) => {
    const refused = await sendMcp(hub, list, { token: tokens.alice, headers });
    expect(refused).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    expect(refused.text).toContain(why);
  });

  test("a worker's token is not for tools", async () => {
    const refused = await sendMcp(hub, list, { token: tokens.worker });
    expect(refused).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
  });

  test("only POST is served", async () => {
    const refused = await hub.call("GET", "//mcp", { token: tokens.alice });
    expect(refused).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });
});

describe("what is taken", () => {
  test("a body of more than 1 MiB is refused, and so are batches and what is not JSON", async () => {
    const large = await sendMcp(
      hub,
      { ...list, params: { filler: "x".repeat(1024 ** 2) } },
      { token: tokens.alice },
    );
    expect(large).toMatchObject({ status: 413, code: "TOO_LARGE" });
    const batch = await sendMcp(hub, [toolCall("list_jobs")], { token: tokens.alice });
    expect(batch).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(await sendMcp(hub, "{", { token: tokens.alice })).toMatchObject({
      status: 400,
      code: "INVALID_JSON",
    });
  });

  test("the 33rd open call of a token is refused, and another token still gets in", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    const open = new AbortController();
    const calls = Array.from({ length: 32 }, (_, index) =>
      sendMcp(hub, toolCall("wait_job", { job_id: id }, index), { token: tokens.alice, signal: open.signal }),
    );
    const ended = Promise.allSettled(calls);
    const refused = await eventually("the 33rd call", async () => {
      const answer = await sendMcp(hub, list, { token: tokens.alice });
      return answer.status === 200 ? null : answer;
    });
    expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_STREAMS" });
    expect(refused.text).toContain("32 MCP calls are open");
    expect(await sendMcp(hub, list, { token: tokens.bob })).toMatchObject({ status: 200 });
    open.abort();
    await ended;
    await eventually(
      "a place",
      async () => (await sendMcp(hub, list, { token: tokens.alice })).status === 200,
    );
  });
});

describe("what is allowed", () => {
  test("a server that only reads neither lists nor runs anything else", async () => {
    const client = await mcpClient(reading, reading.admin);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "get_job",
      "wait_job",
      "read_output",
      "list_jobs",
      "get_diff",
    ]);
    for (const name of ["run_job", "delegate", "cancel_job"]) {
      const asked = client.callTool({ name, arguments: { command: ["true"] } });
      await expect(asked).rejects.toThrow(`${name} is not allowed: this hub does not offer it`);
    }
    expect((await reading.must("GET", "/jobs", { token: reading.admin })).json()).toEqual([]);
  });

  test("a viewer's token cannot run or cancel anything, and that is in the audit trail", async () => {
    const client = await mcpClient(hub, tokens.acmeViewer);
    const { id } = await submitJob(hub, { token: tokens.alice });
    const run = await client.callTool({ name: "run_job", arguments: { command: ["true"] } });
    expect(run).toMatchObject({ isError: true });
    expect(textOf(run)).toBe("PERMISSION_DENIED: a viewer token may not do this");
    const cancel = await client.callTool({ name: "cancel_job", arguments: { job_id: id } });
    expect(textOf(cancel)).toContain("PERMISSION_DENIED");
    const audit = await hub.must("GET", "/audit?limit=20", { token: hub.admin });
    expect(audit.text).toContain("/mcp POST /jobs/start");
  });

  test("a job of another tenant looks like one that does not exist, in every tool and resource", async () => {
    const { id } = await runningJob(hub, { token: tokens.alice });
    const none = "01890000-0000-7000-8000-000000000000";
    const eve = await mcpClient(hub, tokens.eve);
    const said = async (job: string) => {
      const texts: string[] = [];
      for (const name of ["get_job", "wait_job", "read_output", "cancel_job", "get_diff"]) {
        const answer = await eve.callTool({ name, arguments: { job_id: job } });
        expect(answer, name).toMatchObject({ isError: true });
        texts.push(textOf(answer).replaceAll(job, "ID"));
      }
      for (const part of ["output", "diff", "receipt"]) {
        const read = eve.readResource({ uri: `writ://jobs/${job}/${part}` });
        texts.push((await read.catch((error: Error) => error.message.replaceAll(job, "ID"))) as string);
      }
      return texts;
    };
    expect(await said(id)).toEqual(await said(none));
    expect(textOf(await eve.callTool({ name: "list_jobs", arguments: {} }))).not.toContain(id);
  });

  test("a job of another user of the tenant can be neither read nor cancelled", async () => {
    const { id } = await submitJob(hub, { token: tokens.alice });
    const bob = await mcpClient(hub, tokens.bob);
    for (const name of ["get_job", "cancel_job"]) {
      const answer = await bob.callTool({ name, arguments: { job_id: id } });
      expect(textOf(answer)).toContain("PERMISSION_DENIED: the job belongs to another user");
    }
  });

  test("quotas hold here as on the routes", async () => {
    await hub.must("PUT", "/tenants/globex/quota", { token: hub.admin, body: { max_pending: 0 } });
    const eve = await mcpClient(hub, tokens.eve);
    const full = await eve.callTool({ name: "run_job", arguments: { command: ["true"] } });
    expect(textOf(full)).toMatch(/^QUOTA_EXCEEDED: /);
  });

  test("wrong arguments are named with what is allowed", async () => {
    const client = await mcpClient(hub, tokens.alice);
    const call = async (name: string, args: Record<string, unknown>) =>
      textOf(await client.callTool({ name, arguments: args }));
    expect(await call("get_job", { job_id: "seven" })).toBe(
      "INVALID_ARGUMENT: job_id: must be a UUID of version 4 or 7, in lower case",
    );
    expect(await call("run_job", { command: ["true"], limits: { memory: "much" } })).toMatch(
      /^INVALID_ARGUMENT: limits\.memory: must be /,
    );
    expect(await call("wait_job", { job_id: "x", timeout_sec: 46 })).toContain("timeout_sec: ");
    await expect(client.callTool({ name: "approve", arguments: {} })).rejects.toThrow(
      "there is no tool approve",
    );
  });
});
