import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EventView, JobView } from "../../src/contract/shapes/view-shapes.ts";
import { root } from "../docs/page.ts";
import { openEventStream } from "../support/event-stream.ts";
import { runCli } from "../support/run-cli.ts";
import { delegateStage } from "./delegate-stage.ts";

const stage = delegateStage();

/** What a real program printed, printed again by a shell. */
async function replayed(name: string, { more = "", protocol = "claude-stream" as const } = {}) {
  const repo = stage.makeRepo();
  writeFileSync(join(repo, "stream.jsonl"), readFileSync(join(root, `test/agents/recorded/${name}.jsonl`)));
  const script = `cat stream.jsonl; echo no JSON; ${more}`;
  await stage.startAgents({ teller: { command: ["sh", "-c", script], protocol } });
  return stage.delegated(repo);
}

const callsOf = async ({ id }: JobView): Promise<EventView["details"][]> => {
  const { hub } = stage;
  const events = (await hub.must("GET", `/jobs/${id}/events?limit=1000`, { token: hub.admin })).json<
    EventView[]
  >();
  return events.filter(({ event }) => event === "JOB_AGENT").map(({ details }) => details);
};

test("what an agent tells is on its job, in its events and in the signed receipt, marked as its own word", async () => {
  const job = await replayed("claude-code", { more: "echo changed > src/main.txt" });
  expect(job).toMatchObject({ status: "completed", result: { answer: "Done." } });
  expect(job.agent).toEqual({
    tool_calls: 4,
    denied: 1,
    tokens_in: 500,
    tokens_out: 100,
    cost_usd: 0.003,
    session_id: expect.any(String),
    model: "claude-sonnet-4-5",
    reported_by: "agent",
  });
  expect(job.usage).not.toHaveProperty("agent");
  const calls = await callsOf(job);
  expect(
    calls
      .filter(({ call_status }) => call_status !== "running")
      .map(({ call, tool, call_status }) => [call, tool, call_status]),
  ).toEqual([
    [1, "Read", "completed"],
    [2, "Edit", "completed"],
    [3, "Bash", "completed"],
    [4, "Bash", "refused"],
    [5, "message", "completed"],
  ]);
  const { hub } = stage;
  const { receipt } = (await hub.must("GET", `/jobs/${job.id}/receipt`, { token: hub.admin })).json<{
    receipt: string;
  }>();
  expect(JSON.stringify(receipt)).toContain("cost_micro_usd");
});

test("an agent that ends badly keeps what it told, and unknown lines fail nothing", async () => {
  const job = await replayed("codex", {
    more: "echo '{\"type\":[]}'; exit 3",
    protocol: "codex-json" as never,
  });
  expect(job).toMatchObject({ fail_detail: "WORKER_EXIT_ERROR", agent: { tool_calls: 4, denied: 1 } });
  expect(job.partial_result).toMatchObject({ answer: "Done." });
  const { hub } = stage;
  const output = await hub.must("GET", `/jobs/${job.id}/output/stdout`, { token: hub.admin });
  expect(output.text).toContain("no JSON\n");
});

test("a secret of the job is in none of the calls that it names", async () => {
  const repo = stage.makeRepo();
  const call = { type: "tool_use", id: "t", name: "Bash", input: { command: "curl KEY", file_path: "/KEY" } };
  const text = JSON.stringify({
    type: "assistant",
    message: { content: [call, { type: "text", text: "KEY" }] },
  });
  await stage.startAgents(
    {
      teller: {
        command: ["sh", "-c", `printf '%s\\n' '${text}' | sed "s/KEY/$MODEL_KEY/g"`],
        protocol: "claude-stream",
        envFromWorker: ["MODEL_KEY"],
      },
    },
    { workerEnv: { MODEL_KEY: "canary-key-4711" } },
  );
  const job = await stage.delegated(repo);
  const calls = await callsOf(job);
  expect(calls.map(({ tool }) => tool)).toEqual(["Bash", "message"]);
  expect(JSON.stringify([job, calls])).not.toContain("canary");
});

test("calls arrive live, while the agent still runs, and jobctl tells them", async () => {
  const repo = stage.makeRepo();
  const call = (id: string) =>
    JSON.stringify({
      type: "tool_use",
      tool_id: id,
      tool_name: "shell",
      parameters: { command: `step ${id}` },
    });
  const end = (id: string) => JSON.stringify({ type: "tool_result", tool_id: id, status: "success" });
  const script = `echo '${call("one")}'; echo '${end("one")}'; until test -e src/go; do sleep 0.1; done; echo '${call("two")}'; echo '${end("two")}'`;
  await stage.startAgents({ teller: { command: ["sh", "-c", script], protocol: "gemini-stream" } });
  const { hub } = stage;
  const stream = await openEventStream(hub, "/jobs/events", { token: hub.admin });
  const id = await stage.delegate(repo, { run: { mode: "in-place" } });
  const heard = await stream.until("the first call", ({ event }) => event === "job:agent");
  expect(heard.data).toMatchObject({ id, call: 1, tool: "shell", title: "step one" });
  writeFileSync(join(repo, "src/go"), "");
  const env = { WRIT_HOME: hub.home };
  const attached = await runCli("jobctl", ["attach", id], { env });
  expect(attached.stderr).toContain("agent: shell step one\nagent: shell step two\n");
  const status = await runCli("jobctl", ["status", id], { env });
  expect(status.stdout).toMatch(/agent says +2 calls; 0 tokens in, 0 out/);
  const events = await runCli("jobctl", ["events", id], { env });
  expect(events.stdout).toMatch(/agent +on \S+ +attempt 1 +shell step two/);
});
