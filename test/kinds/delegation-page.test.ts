import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { parse, parseDocument } from "yaml";
import {
  openAiEnd,
  openAiEvent,
  startChatServer,
} from "../../src/runners/delegate/chat/chat-server.testing.ts";
import { agentsShape } from "../../src/worker/agents-file/agents-shape.ts";
import { readBlock, readText, root } from "../docs/page.ts";
import { eventually } from "../support/eventually.ts";
import { runCli, startCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const page = "docs/delegation.md";
const hub = hubForAll();
const run = promisify(execFile);
let dir: string;
let worker: ChildProcess | undefined;

beforeAll(() => {
  // A cage has a /tmp of its own.
  dir = mkdtempSync("/var/tmp/writ-delegation-");
  chmodSync(dir, 0o755);
});
afterEach(async () => {
  const running = worker;
  worker = undefined;
  if (running === undefined || running.exitCode !== null) return;
  const ended = new Promise((resolve) => running.once("exit", resolve));
  running.kill();
  await ended;
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function codeOf(block: string, language: string): string {
  const found = block.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"));
  return [...found].map(([, code]) => code).join("\n");
}

/** The worker of the page: enrolled by `writ workers add`, with the page's lines added to its file. */
async function startWorker(
  id: string,
  added: Record<string, Record<string, unknown> | unknown[]>,
): Promise<void> {
  const file = join(dir, `${id}.yaml`);
  const out = ["workers", "add", id, "--home", hub.home, "--out", file];
  expect(await runCli("writ", out, { env: {} })).toMatchObject({ code: 0 });
  const document = parseDocument(readFileSync(file, "utf8"));
  for (const [section, content] of Object.entries(added)) {
    if (Array.isArray(content)) document.set(section, content);
    else for (const [key, value] of Object.entries(content)) document.setIn([section, key], value);
  }
  writeFileSync(file, document.toString(), { mode: 0o600 });
  const explained = await runCli("writ", ["doctor", "--config", file], { env: {} });
  expect(explained).toMatchObject({ code: 0 });
  const args = ["worker", "--config", file, "--home", join(dir, `${id}-home`)];
  const env = { PATH: process.env["PATH"], HOME: dir };
  worker = spawn(join(root, "bin/writ"), args, { stdio: ["ignore", "pipe", "inherit"], env });
  const running = worker;
  await new Promise<void>((resolve, reject) => {
    running.stdout?.once("data", () => resolve());
    running.once("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
  });
}

function jobctl(...args: string[]) {
  return runCli("jobctl", args, {
    env: { WRIT_HOME: hub.home, PATH: process.env["PATH"] ?? "" },
    cwd: join(dir, "hello"),
  });
}

/** Somebody with access to the hub's disk puts another line into every stored diff. */
async function withForgedDiff<T>(act: () => Promise<T>): Promise<T> {
  const stored = globSync("objects/**", { cwd: hub.home, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const diffs = stored
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, text: readFileSync(path, "latin1") }))
    .filter(({ text }) => text.startsWith("diff --git "));
  expect(diffs.length).toBeGreaterThan(0);
  for (const { path, text } of diffs) writeFileSync(path, text.replace("+more", "+evil"), "latin1");
  try {
    return await act();
  } finally {
    for (const { path, text } of diffs) writeFileSync(path, text, "latin1");
  }
}

const walkSettings = () => parse(codeOf(readBlock(page, "walk settings"), "yaml"));

test("the walk of docs/delegation.md does what the page says", async () => {
  await startWorker("desk", walkSettings());
  const env = { PATH: `${root}/bin:${process.env["PATH"]}`, WRIT_HOME: hub.home, HOME: dir };
  const script = codeOf(readBlock(page, "walk"), "sh");
  const { stdout, stderr } = await run("bash", ["-ec", `${script}\necho "$id" > ../id`], { cwd: dir, env });

  // From here on the page shows the file as it still is, and then the diffs.
  const unchangedAt = stdout.indexOf("Helo, world\n");
  const [live, rest] = [stdout.slice(0, unchangedAt), stdout.slice(unchangedAt)];
  // What the agent has printed: its task file, and its last word.
  expect(live).toContain("Mend the spelling in src/greeting.txt.");
  expect(live).toMatch(/src\/?`/);
  expect(live.endsWith("mended\n")).toBe(true);
  // Two diffs of the same change, one by us and one by git.
  expect(rest).toContain("src/greeting.txt  +1 -1\n1 file changed, +1 -1\n");
  expect(rest.match(/^-Helo, world\n\+Hello, world$/gm)).toHaveLength(2);
  expect(stderr).toContain("src/greeting.txt  +1 -1");
  expect(rest).toContain(`1 file was changed in ${join(dir, "hello")}\n`);
  expect(readFileSync(join(dir, "hello/src/greeting.txt"), "utf8")).toBe("Hello, world\n");

  // A second time it does not fit any more, and nothing happens.
  const id = readFileSync(join(dir, "id"), "utf8").trim();
  const again = await jobctl("apply", id, "--yes");
  expect(again.code).toBe(1);
  expect(again.stderr).toContain("the diff does not fit the files in");
  expect(again.stderr).toContain("src/greeting.txt: patch does not apply");

  // In place there is nothing to apply: the changes are there.
  writeFileSync(join(dir, "hello/src/greeting.txt"), "Helo, world\n");
  const args = ["delegate", "Mend it.", "--allow", "src/", "--mode", "in-place", "--detach"];
  const inPlace = (await jobctl(...args)).stdout.trim();
  await jobctl("attach", inPlace);
  const there = await jobctl("apply", inPlace);
  expect(there.code).toBe(1);
  expect(there.stderr).toContain(
    `has worked in the repository itself, ${join(dir, "hello")}; its changes are there`,
  );
});

test("the walk of docs/agents.md ends with a commit that is proven", async () => {
  const start = "docs/agents.md";
  await startWorker("ten", parse(codeOf(readBlock(start, "agents walk settings"), "yaml")));
  const env = { PATH: `${root}/bin:${process.env["PATH"]}`, WRIT_HOME: hub.home, HOME: dir };
  const script = codeOf(readBlock(start, "agents walk"), "sh");
  expect(script.trim().split("\n")).toHaveLength(10);
  const { stdout } = await run("bash", ["-ec", script], { cwd: dir, env });
  expect(stdout).toContain("mended\n");
  expect(stdout).toContain("-Helo, world\n+Hello, world\n");
  expect(stdout).toMatch(/ok +tree +is that of its parent/);
  expect(stdout).toMatch(/Writ-Job: [-0-9a-f]{36}\n+ src\/greeting.txt \| 2 \+-\n/);
});

test("an agent is watched while it works, and its changes are applied when the user says yes", async () => {
  rmSync(join(dir, "hello"), { recursive: true, force: true });
  await run("bash", ["-ec", codeOf(readBlock(page, "walk"), "sh").split("id=")[0]!], { cwd: dir });
  const settings = walkSettings();
  // It sees what is in the folders of the repository as it is now, so the test can let it go on.
  mkdirSync(join(dir, "hello/notes"));
  settings.execution.agents[0].command = [
    "sh",
    "-c",
    "echo thinking; until [ -e notes/go ]; do sleep 0.1; done; echo more >> src/greeting.txt; printf x > src/new.txt",
  ];
  await startWorker("slow", settings);
  const env = { WRIT_HOME: hub.home, PATH: process.env["PATH"] ?? "" };
  const cwd = join(dir, "hello");
  const following = startCli("jobctl", ["delegate", "Think.", "--allow", "src/", "--agent", "scribe"], {
    env,
    cwd,
  });
  await eventually("the agent is heard", () => following.stdout.text.includes("thinking"));
  expect(following.stdout.text).toBe("thinking\n");
  writeFileSync(join(cwd, "notes/go"), "");
  const { code, stderr } = await following.ended;
  expect(code).toBe(0);
  const id =
    /jobctl: the agent changed 2 files; `jobctl diff (\w{8})` shows what, and `jobctl apply \1`/.exec(
      stderr,
    )?.[1];
  expect(id, stderr).toBeDefined();

  const refused = await jobctl("apply", id!);
  expect(refused.stderr).toContain("There is no terminal to ask at; give --yes");
  const declined = await runCli("jobctl", ["apply", id!], { env, cwd, typed: "n\n" });
  expect(declined.code).toBe(1);
  expect(declined.stderr).toContain(`Apply this to ${cwd}? [y/N]`);
  expect(readFileSync(join(cwd, "src/greeting.txt"), "utf8")).toBe("Helo, world\n");
  const json = await jobctl("diff", id!, "--stat", "--json");
  expect(JSON.parse(json.stdout).files).toEqual([
    { path: "src/greeting.txt", added: 1, removed: 0, binary: false },
    { path: "src/new.txt", added: 1, removed: 0, binary: false },
  ]);
  const forgery = await withForgedDiff(() => jobctl("apply", id!, "--yes"));
  expect(forgery.code).not.toBe(0);
  expect(readFileSync(join(cwd, "src/greeting.txt"), "utf8")).toBe("Helo, world\n");
  const applied = await runCli("jobctl", ["apply", id!, "--json"], {
    env,
    cwd: join(cwd, "src"),
    typed: "y\n",
  });
  expect(JSON.parse(applied.stdout.trim())).toMatchObject({
    repo: cwd,
    files: [
      { path: "src/greeting.txt", change: "modified", state: "same" },
      { path: "src/new.txt", change: "added", state: "same" },
    ],
  });
  expect(readFileSync(join(cwd, "src/new.txt"), "utf8")).toBe("x");
});

test("the agent chat answers from an endpoint, in the worker itself, and needs no coding agent", async () => {
  const server = await startChatServer(async (response) => {
    response.write(openAiEvent("Ray"));
    response.end(openAiEvent("leigh") + openAiEnd);
  });
  writeFileSync(join(dir, "model.key"), "sk-CANARY-key", { mode: 0o600 });
  const capability = {
    provider: "OPENROUTER",
    model: "vendor/model",
    endpoint: server.url,
    max_concurrent: 1,
  };
  await startWorker("chatty", { capabilities: [{ ...capability, api_key_file: "model.key" }] });
  const asked = await jobctl("delegate", "Why?", "--agent", "chat", "--model", "vendor/model", "--json");
  const lines = asked.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const job = lines.at(-1);
  expect(asked.code).toBe(0);
  expect(Buffer.concat(lines.slice(0, -1).map(({ data }) => Buffer.from(data, "base64"))).toString()).toBe(
    "Rayleigh\n",
  );
  expect(job).toMatchObject({ state: "EXITED", isolation: { level: "in-process" } });
  const result = await jobctl("result", job.job_id);
  expect(JSON.parse(result.stdout)).toEqual({
    answer: "Rayleigh",
    model: "vendor/model-2",
    usage: { prompt_tokens: 10, completion_tokens: 4 },
    finish_reason: "stop",
  });
  expect(server.calls).toMatchObject([{ headers: { authorization: "Bearer sk-CANARY-key" } }]);
  const log = readFileSync(join(dir, "chatty-home/logs/worker.log"), "utf8");
  expect(asked.stdout + asked.stderr + result.stdout + log).not.toContain("CANARY");
  const diff = await jobctl("diff", job.job_id);
  expect(diff).toMatchObject({ code: 0, stdout: "" });
  expect(diff.stderr).toContain("the job has left no changes");
});

test("every configuration of the page is one that a worker accepts", () => {
  const blocks = [...readText(page).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, code]) => parse(code!));
  expect(blocks).toHaveLength(3);
  const server = { url: "https://hub.example", worker_token: "sk_worker_x" };
  for (const block of blocks)
    expect(agentsShape.safeParse({ server, ...block }).error?.issues ?? []).toEqual([]);
});
