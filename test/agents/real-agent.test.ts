import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { modelVariables, writeModelFiles } from "../../src/worker/agent-check/model-address.ts";
import { startModelServer } from "../../src/worker/agent-check/model-server.ts";
import { trialFiles, trialModel, trialPrompt } from "../../src/worker/agent-check/trial.ts";
import { delegateStage, giveTree, model } from "../kinds/delegate-stage.ts";
import { obstacle } from "../sandbox/cage-stage.ts";
import { runCli } from "../support/run-cli.ts";
import { documentedEntry } from "./documented-entry.ts";
import { type InstalledAgent, installAgent } from "./install-agent.ts";

/** One real agent, openly licensed, which npm installs in seconds. `npm run test:long -- agents` runs them all. */
const name = "gemini";
const stage = delegateStage();
let agent: InstalledAgent | undefined;
let missing = obstacle;
try {
  if (missing === null) agent = installAgent(name);
} catch (error) {
  missing = `npm cannot install it: ${(error as Error).message.split("\n")[0]}`;
}
const capable = missing === null ? test : test.skip;
const note = missing === null ? "" : ` (not capable: ${missing})`;

/** A repository with a task, a model that gives it, and a worker with the documented entry. */
async function prepareTrial() {
  const repo = stage.makeRepo();
  for (const [path, text] of Object.entries(trialFiles)) writeFileSync(join(repo, path), text);
  giveTree(repo);
  const trial = { repo, secretWord: "sesame-4711" };
  const { answer, seen } = trialModel(trial);
  const server = await startModelServer(answer);
  onTestFinished(server.close);
  const entry = documentedEntry(name, agent!);
  const workerEnv = modelVariables(server.url);
  const home = join(stage.dir, "home");
  await writeModelFiles(home, server.url);
  await stage.startAgents(
    {
      [name]: {
        command: entry.command,
        stdin: entry.stdin,
        protocol: entry.protocol,
        home,
        envFromWorker: Object.keys(workerEnv),
      },
    },
    { workerEnv },
    agent!.visiblePaths,
  );
  return { repo, seen, run: { prompt: trialPrompt(trial), agent: name } };
}

capable(`O-15 a real agent does its task in the cage, and its diff is right${note}`, async () => {
  const { repo, seen, run } = await prepareTrial();
  const job = await stage.delegated(repo, { run });
  expect(job).toMatchObject({
    status: "completed",
    result: { changed: [{ path: "src/greeting.txt", change: "modified" }] },
  });
  expect(seen).toMatchObject({ task: true, tests: true, refusal: true });
  expect(job.agent).toMatchObject({ tool_calls: 4, denied: 1, tokens_in: 500, tokens_out: 100 });
  const diff = await stage.artifact(job, `${job.id}/changes.diff`);
  expect(diff).toContain("-Helo, world\n+Hello, world\n");
  expect(readFileSync(join(repo, "src/greeting.txt"), "utf8")).toBe("Helo, world\n");
});

capable(`a real agent is stopped when it calls more tools than its budget allows${note}`, async () => {
  const { repo, run } = await prepareTrial();
  const job = await stage.delegated(repo, { run: { ...run, budget: { tool_calls: 2 } } });
  expect(job).toMatchObject({
    status: "failed",
    fail_code: "EXECUTION_ERROR",
    fail_detail: "BUDGET_EXCEEDED",
  });
  expect(job.agent!.tool_calls).toBeGreaterThan(2);
  expect(job.fail_history[0]?.reason).toContain("the budget of the job left 2 calls of tools");
});

capable(`writ doctor --agent tries a real agent, with no key and no home of the worker${note}`, async () => {
  const dir = mkdtempSync("/var/tmp/writ-doctor-agent-");
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const config = {
    server: { url: "https://hub.example", worker_token: "sk_worker_x" },
    capabilities: [model],
    execution: {
      isolation: "best-effort",
      visible_paths: agent!.visiblePaths,
      agents: [
        documentedEntry(name, agent!),
        { name: "mute", command: ["sh", "-c", "echo nothing to do"] },
        { name: "outside" },
      ],
    },
  };
  writeFileSync(join(dir, "agents.yaml"), stringify(config), { mode: 0o600 });
  const doctor = (...flags: string[]) => {
    const env = { HOME: dir, GEMINI_API_KEY: "sk-CANARY" };
    const args = ["doctor", "--config", join(dir, "agents.yaml"), "--home", dir, ...flags];
    return runCli("writ", args, { env, cwd: dir });
  };
  const tried = await doctor("--agent", name, "--model", agent!.model);
  expect(tried.stdout.replaceAll(/ +/g, " ")).toBe(
    [
      `ok ${name} reads its task`,
      `ok ${name} edits a file that it may change`,
      `ok ${name} runs a command`,
      `ok ${name} is refused where it may not write`,
      "",
      "4 checks: 4 ok, 0 warnings, 0 problems\n",
    ].join("\n"),
  );
  expect(tried.code).toBe(0);

  const mute = await doctor("--agent", "mute");
  const said = mute.stdout.replaceAll(/\s+/g, " ");
  expect(said).toMatch(
    /^warning mute did not ask the model on loopback for anything, so .* could not be tried/,
  );
  expect(said).toContain("it exited with code 0; the end of what it printed: nothing to do");
  expect(said).toContain("1 checks: 0 ok, 1 warning, 0 problems");
  expect(mute.code).toBe(0);
  const outside = await doctor("--agent", "outside");
  expect(outside).toMatchObject({ code: 0, stdout: expect.stringContaining("somebody else runs") });
  const unknown = await doctor("--agent", "nobody");
  expect(unknown.stderr).toContain(
    '--agent: this worker has no agent "nobody"; it has: gemini, mute, outside',
  );
});
