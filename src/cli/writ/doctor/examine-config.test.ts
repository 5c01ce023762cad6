import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createContext } from "../../create-context.ts";
import { runWrit } from "../program.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-doctor-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function doctor(config: string, ...flags: string[]) {
  const sink = {
    isTTY: false,
    text: "",
    on: () => sink,
    write(text: string) {
      sink.text += text;
      return true;
    },
  };
  writeFileSync(join(dir, "agents.yaml"), config, { mode: 0o600 });
  const args = ["doctor", "--config", "agents.yaml", "--home", dir, ...flags];
  const { version, platform } = process;
  const argv = ["node", "writ", ...args];
  const view = { argv, env: { GIVEN: "CANARY" }, execPath: "", version, platform, cwd: () => dir };
  const exitCode = await runWrit(createContext("writ", { ...view, stdout: sink, stderr: sink } as never));
  expect(sink.text).not.toContain("CANARY");
  return { exitCode, text: sink.text };
}

test("everything that is wrong in the file is a problem of its own", async () => {
  const { exitCode, text } = await doctor(
    "server: { url: https://hub, worker_token: CANARY }\nexecution: { slots: 0, slts: 1 }\n",
  );
  expect(exitCode).toBe(1);
  expect(text).toContain("problem  config  ");
  expect(text).toContain("agents.yaml:2: execution.slots: must be a whole number from 1 to 10000\n");
  expect(text).toContain("agents.yaml:2: execution.slts: is not a known key; known here: isolation, slots,");
  expect(text).toContain("2 checks: 0 ok, 0 warnings, 2 problems");
});

test("a valid file is explained, with what will hardly work, and without its token", async () => {
  const { exitCode, text } = await doctor(
    [
      "server: { url: http://hub.example:3000, worker_token: sk_worker_CANARY, worker_id: w7, types: [resize] }",
      "capabilities: [{ provider: OLLAMA, model: qwen3, endpoint: http://127.0.0.1:11434, max_concurrent: 3 }]",
      "security: { allowed_path_prefixes: [src/, docs/], forbidden_absolute_paths: [/srv/x] }",
      "execution:",
      "  slots: 2",
      "  max_limits: { memory: 4G }",
      "  agents:",
      "    - { name: missing, command: [no-such-program, x], env_from_worker: [GIVEN, UNSET], validate: [./check] }",
      "    - { name: shell, command: [sh, -c, 'true'] }",
      "logging: { level: ERROR, file: w.log, format: '%(message)s' }",
    ].join("\n"),
  );
  expect(exitCode).toBe(0);
  for (const sentence of [
    "gets its jobs from http://hub.example:3000;",
    "warning  hub        http://hub.example:3000 would get the token unencrypted, so the worker does not start",
    "registers as w7 at LOCAL_MACHINE with",
    "takes jobs of the types resize, at most 2 at once",
    "no job gets more than memory 4G",
    "qwen3 of OLLAMA: at most 3 jobs at once, at http://127.0.0.1:11434; one call may take 120 s",
    "missing: runs `no-such-program x` in a cage; it sees GIVEN, UNSET of the worker's environment; its work is checked by `./check`",
    "warning  agents     missing: no-such-program is not in /usr/local/sbin:",
    "warning  agents     missing: UNSET is not set in this environment",
    "shell: runs `sh -c true` in a cage\n",
    "chat: is built in; it sends the prompt to the endpoint",
    "a job that names the agent default gets missing",
    "agents may change what is in src/, docs/: at most 1.0 MiB in one file and 10 MiB in all",
    "/srv/x",
    `${join(dir, "w.log")} gets lines as %(message)s, from level ERROR on`,
  ])
    expect(text).toContain(sentence);
  expect(text).not.toContain("shell: sh is not");
});

test("O-15 an agent that cannot run is named, with what to do, and is not what default means", async () => {
  const file = (isolation: string) =>
    doctor(
      [
        "server: { url: https://hub, worker_token: sk_worker_CANARY }",
        "capabilities: [{ provider: OLLAMA, model: m }]",
        `execution: { ${isolation} roo_code: { enabled: true }, agents: [{ name: watcher }, { name: shell, command: [sh] }] }`,
      ].join("\n"),
    );
  const why = "runs outside the cage, which isolation strict does not allow";
  const advice = "set execution.isolation to best-effort, or remove the agent";
  const strict = await file("isolation: strict,");
  for (const name of ["watcher", "roo-code"])
    expect(strict.text).toContain(`${name}: cannot run, so it is not offered: it ${why}; ${advice}`);
  expect(strict.text).toContain("a job that names the agent default gets shell");
  const unnamed = await file("");
  expect(unnamed.text).toContain(
    `watcher: ${why}, and strict is the default where this machine can; ${advice}`,
  );
  const other = await file("isolation: best-effort,");
  expect(other.text).not.toContain(why);
  expect(other.text).toContain("a job that names the agent default gets watcher");
});

test("with --json each sentence is an object", async () => {
  const { text } = await doctor("server: { url: https://hub, worker_token: sk_worker_CANARY }\n", "--json");
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { check: string });
  expect(lines.map(({ check }) => check)).toEqual([
    "hub",
    "worker",
    "keys",
    "jobs",
    "isolation",
    "limits",
    "network",
    "agents",
    "log",
  ]);
});
