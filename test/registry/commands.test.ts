import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../support/run-command.ts";
import { emptyDirectory, jobctlRegistry } from "./registry-process.ts";

type Ran = Awaited<ReturnType<typeof runCommand>>;

function inDirectory() {
  const cwd = emptyDirectory();
  const run = (...args: string[]): Promise<Ran> =>
    runCommand("jobctl", ["registry", ...args], { home: join(cwd, "no-home"), cwd });
  const add = async (...more: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await run("register", ...job, ...more);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^[0-9a-f]{8}\n$/);
    return stdout.trim();
  };
  return { cwd, run, add };
}

const job = ["--prompt", "fix the test", "--agent", "claude-code", "--agent-session", "tmux:claude"];

test("wrong words end with 2, and what is refused with 1", async () => {
  const { run, add, cwd } = inDirectory();
  const code = async (...args: string[]) => (await run(...args)).exitCode;
  expect(await code("register", "--prompt", "p")).toBe(2);
  expect(await code("register", ...job, "--timeout", "soon")).toBe(2);
  expect(await code("register", ...job, "--broker", "mqtt://ann:secret@host")).toBe(2);
  expect(await code("dance")).toBe(2);
  expect(await code("logs")).toBe(2);
  expect(await code("logs", "0badcafe", "--list")).toBe(2);
  expect(existsSync(join(cwd, ".writ"))).toBe(false);
  expect(await code("pick")).toBe(2);
  expect(await code("get", "--job", "0badcafe")).toBe(1);
  expect(await code("status", "--job", "0badcafe", "--set", "running")).toBe(1);
  expect(await code("logs", "0badcafe")).toBe(1);
  const id = await add();
  expect(await code("status", "--job", id, "--set", "done")).toBe(1);
  expect(await code("status", "--job", id, "--set", "cancelled")).toBe(0);
  expect(await code("status", "--job", id, "--set", "cancelled")).toBe(0);
  expect(await code("status", "--job", id, "--set", "running")).toBe(1);
  expect(await code("pick", "--agent-session", "tmux:claude")).toBe(3);
});

test("an error is one line that says what to do next, as JSON with --json", async () => {
  const { run } = inDirectory();
  const { stderr } = await run("get", "--job", "0badcafe");
  expect(stderr).toBe(
    'jobctl: there is no job "0badcafe" in this registry; `jobctl registry list` shows its jobs\n',
  );
  const asJson = await run("get", "--job", "0badcafe", "--json");
  expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: "NOT_FOUND" } });
});

test("a job is registered, listed, picked, ended and read back", async () => {
  const { run, add } = inDirectory();
  const id = await add("--timeout", "60", "--expected-artifact", "a.txt", "--expected-artifact", "b/c.txt");
  const listed = await run("list");
  expect(listed.stdout).toMatch(/^ID +STATUS +SESSION +AGENT +UPDATED +PROMPT\n/);
  expect(listed.stdout).toContain(`${id}  pending  tmux:claude  claude-code`);
  expect((await run("pick", "--agent-session", "tmux:claude")).stdout).toBe(`${id}\n`);
  const found = JSON.parse((await run("get", "--job", id)).stdout);
  expect(found).toMatchObject({
    status: "running",
    timeout_sec: 60,
    expected_artifacts: ["a.txt", "b/c.txt"],
  });
  expect((await run("get", "--job", id, "--field", "prompt")).stdout).toBe("fix the test\n");
  expect((await run("get", "--job", id, "--field", "expected_artifacts")).stdout).toBe(
    '["a.txt","b/c.txt"]\n',
  );
  expect((await run("get", "--job", id, "--field", "secret")).exitCode).toBe(2);
  expect((await run("status", "--job", id, "--set", "completed")).stdout).toBe(`${id} is completed\n`);
  expect(JSON.parse((await run("list", "--json")).stdout)).toMatchObject({ job_id: id, status: "completed" });
  const logs = await run("logs", id, "--tail", "1");
  expect(logs.stdout).toMatch(/^\S+Z {2}status_changed {2}running → completed\n$/);
  expect((await run("logs", "--list")).stdout).toContain(`${id}  completed`);
});

test("O-19: a job's MAC key is printed by `key` and nowhere else", async () => {
  const { run, add, cwd } = inDirectory();
  const id = await add("--auth");
  const printed = await run("key", "--job", id);
  expect([printed.exitCode, printed.stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f]{64}\n$/)]);
  const key = printed.stdout.trim();
  expect(JSON.parse((await run("key", "--job", id, "--json")).stdout)).toEqual({ job_id: id, key });
  for (const words of [
    ["get", "--job", id],
    ["list", "--json"],
    ["logs", id, "--json"],
  ])
    expect((await run(...words)).stdout).not.toContain(key);
  expect(readFileSync(join(cwd, ".writ/job_logs", id, "meta.json"), "utf8")).not.toContain(key);
  const without = await add();
  expect(await run("key", "--job", without)).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: `jobctl: job ${without} has no MAC key; \`jobctl registry register --auth\` gives a job one\n`,
  });
  expect((await run("key", "--job", "0badcafe")).exitCode).toBe(1);
});

test("another directory is another registry", async () => {
  const { run, cwd } = inDirectory();
  const elsewhere = ["--registry-dir", "team/jobs"];
  const id = (await run("register", ...job, ...elsewhere)).stdout.trim();
  expect(existsSync(join(cwd, "team/jobs/registry.sqlite"))).toBe(true);
  expect((await run("get", "--job", id)).exitCode).toBe(1);
  expect((await run("get", "--job", id, ...elsewhere)).exitCode).toBe(0);
  rmSync(join(cwd, "team"), { recursive: true });
  expect((await run("logs", id)).exitCode).toBe(0);
});

test("a prompt may come from a file, and a text may begin with @ all the same", async () => {
  const { run, cwd } = inDirectory();
  const long = "x".repeat(200 * 1024);
  writeFileSync(join(cwd, "task.md"), `${long}\n`);
  const promptOf = async (given: string) => {
    const words = ["--prompt", given, "--agent", "x", "--agent-session", "s"];
    const id = (await run("register", ...words)).stdout.trim();
    return (await run("get", "--job", id, "--field", "prompt")).stdout;
  };
  expect(await promptOf("@task.md")).toBe(`${long}\n`);
  expect(await promptOf(" @task.md")).toBe("@task.md\n");
  const gone = await run("register", "--prompt", "@gone.md", "--agent", "x", "--agent-session", "s");
  expect([gone.exitCode, gone.stderr]).toEqual([
    2,
    expect.stringContaining("prompt @gone.md: there is no such file"),
  ]);
});

test("the text of a job cannot control the terminal", async () => {
  const { run, cwd } = inDirectory();
  const args = ["--prompt", "a\x1b[2Jb\nc\x1b[31m", "--agent", "x", "--agent-session", "s"];
  const id = (await run("register", ...args)).stdout.trim();
  const { stdout } = await run("list");
  expect(stdout).not.toContain("\x1b");
  expect(stdout).toContain("a\\x1b[2Jb\\nc\\x1b[31m");
  expect(stdout.trim().split("\n")).toHaveLength(2);
  expect(readFileSync(join(cwd, ".writ/job_logs", id, "meta.json"), "utf8")).not.toContain("\x1b");
});

test("it needs no hub, no home and no network", async () => {
  const cwd = emptyDirectory();
  const env = { HOME: "/nowhere", WRIT_HUB_URL: "http://127.0.0.1:1" };
  const { code, stdout, stderr } = await jobctlRegistry(cwd, ["register", ...job], env);
  expect([code, stderr]).toEqual([0, ""]);
  expect((await jobctlRegistry(cwd, ["pick", "--agent-session", "tmux:claude"], env)).stdout).toBe(stdout);
});
