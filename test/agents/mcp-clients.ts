import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { modelVariables, writeModelFiles } from "../../src/worker/agent-check/model-address.ts";
import { type Answer, startModelServer } from "../../src/worker/agent-check/model-server.ts";
import type { TestHub } from "../support/hub.ts";
import { runCli } from "../support/run-cli.ts";
import type { AgentName, InstalledAgent } from "./install-agent.ts";

/** How each program is asked one thing, without questions of its own. */
const asked: Record<AgentName, (model: string) => string[]> = {
  "claude-code": (model) => ["-p", "--model", model, "--allowedTools", "mcp__writ", "--verbose", prompt],
  codex: (model) => [
    "exec",
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    // Otherwise the first turn may come before the server has started.
    "-c",
    "mcp_servers.writ.required=true",
    "-m",
    model,
    prompt,
  ],
  gemini: (model) => ["-m", model, "--approval-mode=yolo", "--skip-trust", "-p", prompt],
  opencode: (model) => ["run", "--model", `openrouter/${model}`, prompt],
};
const prompt = "Run the long log, read its end, and cancel what sleeps.";

const lastWords = "at the end: 4711";
/** Each step is one tool; the model finds it by the end of its name, whatever the program puts before that. */
const longLog = ["sh", "-c", `seq 1 20000; echo '${lastWords}'; exit 3`];
const runMsMax = 180_000;

type Seen = { tools: string[]; steps: number; end: boolean; why: boolean; cancelled: boolean };

const ours = /(?:run_job|wait_job|read_output|cancel_job)$/;

/** A model that submits, waits, reads the end of a long log, and cancels. */
function scriptedModel(): { answer: Answer; seen: Seen } {
  const seen: Seen = { tools: [], steps: 0, end: false, why: false, cancelled: false };
  let id = "";
  const answer: Answer = ({ tools, calls: all, lastResult }) => {
    const calls = all.filter(({ name }) => ours.test(name));
    const named = (end: string) => tools.find(({ name }) => name.endsWith(end));
    if (tools.length > 0) seen.tools = tools.map(({ name }) => name);
    const wait = named("WaitForMcpServers");
    if (named("run_job") === undefined)
      return wait === undefined ? { say: "A title" } : { call: { name: wait.name, args: {} } };
    seen.steps = Math.max(seen.steps, calls.length);
    id = /job_id\W+([0-9a-f-]{36})/.exec(lastResult)?.[1] ?? id;
    if (calls.length === 2 && /exit_code\W+3/.test(lastResult)) seen.why = true;
    if (calls.length === 3 && lastResult.includes(lastWords)) seen.end = true;
    if (calls.length === 5 && lastResult.includes("cancelled")) seen.cancelled = true;
    const step = [
      { end: "run_job", args: { command: longLog } },
      { end: "wait_job", args: { job_id: id } },
      { end: "read_output", args: { job_id: id } },
      { end: "run_job", args: { command: ["sleep", "3600"] } },
      { end: "cancel_job", args: { job_id: id } },
    ][calls.length];
    const tool = step === undefined ? undefined : named(step.end);
    return step === undefined || tool === undefined
      ? { say: "Done." }
      : { call: { name: tool.name, args: step.args } };
  };
  return { answer, seen };
}

/** Runs a real program whose settings `writ skills install` has written, and looks at what its jobs became. */
export async function driveByAgent(hub: TestHub, name: AgentName, agent: InstalledAgent): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), `writ-mcp-${name}-`));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const { answer, seen } = scriptedModel();
  const server = await startModelServer(answer);
  onTestFinished(server.close);
  await writeModelFiles(home, server.url);
  const env = { HOME: home, WRIT_HOME: hub.home, PATH: process.env["PATH"] ?? "" };
  const installed = await runCli("writ", ["skills", "install", "--agent", name, "--yes"], { env, cwd: home });
  expect(installed, installed.stderr).toMatchObject({ code: 0 });
  const before = await jobsOf(hub);
  const output = await run([...agent.command, ...asked[name](agent.model)], {
    cwd: home,
    // With a search for tools, the model would first have to look for ours.
    env: { ...env, ...modelVariables(server.url), ENABLE_TOOL_SEARCH: "false" },
  });
  const details = `${JSON.stringify(seen)}\n${output}`;
  expect(seen, details).toMatchObject({ steps: 5, why: true, end: true, cancelled: true });
  const made = (await jobsOf(hub)).slice(0, -before.length || undefined);
  expect(
    made.map(({ fail_code: code, exit_code: exit }) => [code, exit]),
    details,
  ).toEqual([
    ["CANCELLED", expect.anything()],
    ["EXECUTION_ERROR", 3],
  ]);
  expect(readFileSync(join(hub.home, "logs/hub.log"), "utf8")).not.toContain("sk_admin_");
}

async function jobsOf(hub: TestHub): Promise<JobView[]> {
  return (await hub.must("GET", "/jobs?type=exec", { token: hub.admin })).json<JobView[]>();
}

async function run(
  [program = "", ...args]: string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<string> {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout: runMsMax });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (text += piece));
  const [code] = await once(child, "close");
  return `exit ${code}\n${text.slice(-20_000)}`;
}
