import { afterEach, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { runCli } from "../support/run-cli.ts";
import { delegateStage } from "./delegate-stage.ts";

const stage = delegateStage();
const quotaPath = "/tenants/default/quota";

afterEach(async () => {
  await stage.hub.must("PUT", quotaPath, { token: stage.hub.admin, body: {} });
});

const turn = (id: number, tokens: number): string =>
  JSON.stringify({
    type: "assistant",
    message: { id: `m${id}`, content: [], usage: { input_tokens: tokens, output_tokens: 0 } },
  });

/** Changes a file, says that it has used so many tokens, and waits to be stopped. */
const spender = (tokens: number, then = "sleep 600"): string =>
  `echo changed > src/main.txt; echo '${turn(1, tokens)}'; ${then}`;

function agent(script: string, protocol = "claude-stream") {
  return { command: ["sh", "-c", script], protocol: protocol as "claude-stream" };
}

const budgeted = (repo: string, budget: object, more: object = {}): Promise<JobView> =>
  stage.delegated(repo, { run: { budget }, more });

// First, because the other tests spend, too.
test("agents of a tenant share what it may use in a day", async () => {
  const repo = stage.makeRepo();
  const { hub } = stage;
  const set = await runCli("writ", ["quotas", "set", "default", "--max-agent-tokens-per-day", "700"], {
    env: { WRIT_HOME: hub.home },
  });
  expect(set.stdout).toMatch(/max_agent_tokens_per_day +700/);
  await stage.startAgents({
    teller: agent(spender(400, "exit 0")),
    silent: "echo hi",
    waiter: agent(spender(400)),
  });
  const first = await stage.delegated(repo);
  expect(first.status).toBe("completed");
  const silent = await stage.delegated(repo, { run: { agent: "silent" } });
  expect(silent).toMatchObject({ fail_code: "INVALID_JOB" });
  const second = await stage.delegated(repo, { run: { agent: "waiter" } });
  expect(second).toMatchObject({ fail_detail: "BUDGET_EXCEEDED" });
  expect(second.fail_history[0]?.reason).toContain("what its tenant may use in one day left 300 tokens");
});

test("a budget that the agent's protocol does not tell is refused before the agent starts", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ silent: "echo hi", codex: agent("echo hi", "codex-json") });
  const silent = await budgeted(repo, { tool_calls: 5 });
  expect(silent).toMatchObject({ status: "failed", fail_code: "INVALID_JOB", started_at: null });
  expect(silent.fail_history.at(-1)?.reason).toContain("its protocol text tells nothing");
  const codex = await stage.delegated(repo, { run: { agent: "codex", budget: { usd: 1 } } });
  expect(codex.fail_history.at(-1)?.reason).toContain("codex-json tells tokens and tool_calls");
  const chat = await stage.hub.call("POST", "/jobs", {
    token: stage.hub.admin,
    body: { type: "delegate", run: { kind: "delegate", agent: "a", prompt: "p", budget: {} } },
  });
  expect(chat.status).toBe(400);
});

test("an agent that reports more than its budget is stopped, for good, and its work is kept", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ teller: agent(spender(1_001)) });
  const job = await budgeted(repo, { tokens: 1_000 }, { max_attempts: 3 });
  expect(job).toMatchObject({
    status: "failed",
    fail_code: "EXECUTION_ERROR",
    fail_detail: "BUDGET_EXCEEDED",
  });
  expect(job).toMatchObject({ attempt: 1, agent: { tokens_in: 1_001 } });
  expect(job.fail_history[0]?.reason).toContain(
    "the agent reported 1001 tokens in this attempt, and the budget of the job left 1000 tokens",
  );
  const kept = job.output_files.map(({ object_key: key }) => key);
  expect(kept.some((key) => key.endsWith("/changes.diff"))).toBe(true);
});

test("all attempts share the budget, and one that has nothing left does not start", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ teller: agent(spender(600, "exit 1")) });
  const job = await budgeted(repo, { tokens: 1_200 }, { max_attempts: 5 });
  expect(job).toMatchObject({ fail_detail: "BUDGET_EXCEEDED", attempt: 3 });
  expect(job.fail_history.map(({ detail }) => detail)).toEqual([
    "WORKER_EXIT_ERROR",
    "WORKER_EXIT_ERROR",
    "BUDGET_EXCEEDED",
  ]);
  expect(job.agent).toMatchObject({ tokens_in: 0, earlier: { tokens: 1_200, tool_calls: 0, usd: 0 } });
  expect(job.usage).toBeNull();
});
