import { execFile, execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { list, publish, readLog, register } from "../../src/registry/index.ts";
import { readBlock, readTable, readText, root } from "../docs/page.ts";
import { eventually } from "../support/eventually.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { emptyDirectory } from "./registry-process.ts";

const env = { ...process.env, PATH: `${join(root, "bin")}:${process.env["PATH"]}` };
const page = "docs/registry.md";

function codeIn(block: string): string {
  return /```\w+\n([\s\S]*?)```/.exec(readBlock(page, block))![1]!;
}

async function runScript(cwd: string, script: string, more: object = {}): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-eu", "-c", script], {
    cwd,
    env: { ...env, ...more },
  });
  return stdout;
}

test("the walk of docs/registry.md does what it says", async () => {
  const cwd = emptyDirectory();
  const stdout = await runScript(cwd, codeIn("walk").replaceAll(/^\$ /gm, ""));
  const [job] = await list({ cwd });
  expect(job).toMatchObject({ status: "completed", prompt: "Add a test for the parser" });
  expect(stdout).toContain(`\n${job!.job_id}\n`);
  expect(stdout).toContain("running → completed");
});

test("the loop of docs/registry.md works through the jobs of a session", async () => {
  const cwd = emptyDirectory();
  const agent = join(cwd, "agent");
  writeFileSync(agent, '#!/bin/sh\nprintf "%s\\n" "$1" >> done.txt\n[ "$1" != "fail" ]\n');
  chmodSync(agent, 0o755);
  for (const prompt of ["first", "fail", 'two\n"lines" $HOME']) {
    await register({ cwd }, { prompt, agent: "a", agentSession: "tmux:claude" });
  }
  // Ends with the 3 of the last pick.
  await runScript(cwd, `${codeIn("loop")}\n`, { AGENT: agent });
  expect(readFileSync(join(cwd, "done.txt"), "utf8")).toBe('first\nfail\ntwo\n"lines" $HOME\n');
  const jobs = await list({ cwd });
  expect(jobs.map(({ status }) => status)).toEqual(["completed", "error", "completed"]);
});

test("the program of docs/registry.md runs as it is written", async () => {
  const cwd = emptyDirectory();
  const file = join(cwd, "program.ts");
  const index = JSON.stringify(join(root, "src/registry/index.ts"));
  writeFileSync(file, codeIn("library").replace('"writ/registry"', index));
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd });
  expect(stdout).toMatch(/^completed 1\n\S+ registered\n\S+ status_changed\n\S+ status_changed\n$/);
  const [job] = await list({ cwd });
  expect(await readLog({ cwd }, job!.job_id)).toHaveLength(3);
});

test.skipIf(noMosquitto !== undefined)("the messages of docs/registry.md arrive", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/jobs/+/events");
  const where = { MQTT_PORT: String(broker.port), MQTT_HOST: "127.0.0.1" };
  await runScript(emptyDirectory(), codeIn("messages"), where);
  await eventually("both events", () => listener.heard.length === 2);
  const messages = listener.heard.map(({ text }) => JSON.parse(text));
  const auth = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(messages).toMatchObject([
    { seq: 1, event: "tests_passed", status: "pending", data: { count: 12 }, auth },
    { seq: 2, event: "done", status: "completed", auth },
  ]);
});

test("O-19: the check of docs/registry.md tells an event with the right MAC from a forged one", async () => {
  const cwd = emptyDirectory();
  const job = { prompt: "p", agent: "a", agentSession: "s", broker: "mqtt://127.0.0.1:1", auth: true };
  const { job_id: id } = await register({ cwd }, job);
  const { message } = await publish({ cwd }, id, { event: "step", data: { of: 2.5, name: "é\x7f" } });
  const check = (sent: object) =>
    execFileSync("python3", ["-c", codeIn("check")], {
      env: keyed,
      input: JSON.stringify(sent),
      encoding: "utf8",
    });
  const keyed = { ...env, MAC_KEY: (await runScript(cwd, `jobctl registry key --job ${id}`)).trim() };
  expect(check(message)).toBe("authentic\n");
  expect(check({ ...message, status: "completed" })).toBe("forged\n");
});

test("O-19: a directory of prompts becomes jobs in the order of their names", async () => {
  const cwd = emptyDirectory();
  mkdirSync(join(cwd, ".hermes/jobs"), { recursive: true });
  for (const name of ["02-second", "01-first"])
    writeFileSync(join(cwd, `.hermes/jobs/${name}.md`), `${name}\n`);
  await runScript(cwd, codeIn("import"));
  expect((await list({ cwd })).map(({ prompt }) => prompt.trim())).toEqual(["01-first", "02-second"]);
});

test("docs/registry.md lists every field of the record, and every function", async () => {
  const cwd = emptyDirectory();
  const record = await register({ cwd }, { prompt: "p", agent: "a", agentSession: "s" });
  const fields = readTable(readBlock(page, "record")).map(([name = ""]) => name.replaceAll("`", ""));
  expect(fields).toEqual(Object.keys(record));
  const library = await import("../../src/registry/index.ts");
  const text = readText(page);
  // A function with its arguments, a class by its name.
  const isNamed = (name: string) =>
    text.includes(`\`${name}(`) || (/^[A-Z]/.test(name) && text.includes(`\`${name}\``));
  expect(Object.keys(library).filter((name) => !isNamed(name))).toEqual([]);
});

test("`writ/registry` is what a program of others imports", async () => {
  const { exports } = JSON.parse(readText("package.json"));
  expect(exports["./registry"]).toBe("./src/registry/index.ts");
});
