import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WritError } from "../../core/errors.ts";
import { loadAgentsFile } from "./load-agents-file.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-agents-file-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const server = "server: { url: https://hub:3000, worker_token: sk_worker_CANARY }\n";

function write(name: string, text: string, mode = 0o600): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function load(text: string) {
  return loadAgentsFile(write("agents.yaml", text), "/home/ann");
}

async function refusalOf(text: string): Promise<WritError> {
  const error = await load(text).catch((refused: WritError) => refused);
  expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  expect(JSON.stringify([(error as WritError).message, (error as WritError).details])).not.toContain(
    "CANARY",
  );
  return error as WritError;
}

test.each([
  ["server: { worker_token: CANARY }", "1: server.url: is missing; it must be text or a list of texts"],
  [
    "server: { url: hub, worker_token: CANARY }",
    "1: server.url: must be the address of a hub, such as https://",
  ],
  ["server: { url: https://hub }", "1: server.worker_token: is missing; it must be text"],
  ["server: { url: https://hub, worker_token: }", "1: server.worker_token: has no value; it must be text"],
  ['server: { url: https://hub, worker_token: "CANARY\\n" }', "1: server.worker_token: must be one word"],
  [
    "server: { url: https://hub, worker_token: 12 }",
    "1: server.worker_token: must be text; put it in quotes",
  ],
  [`${server}servr: {}`, "2: servr: is not a known key; known here: server, capabilities, security,"],
  [
    `${server}capabilities: [{ provider: OLAMA, model: m }]`,
    "2: capabilities.0.provider: must be one of OPENROUTER,",
  ],
  [`${server}capabilities: {}`, "2: capabilities: must be a list"],
  [
    `${server}capabilities: [{ provider: OLLAMA, model: m, endpoint: "http://u:CANARY@h" }]`,
    "2: capabilities.0.endpoint: must be an http or https address without user",
  ],
  [
    `${server}capabilities: [{ provider: OLLAMA, model: m, api_key_file: k }]`,
    "2: capabilities.0.api_key_file: needs an endpoint",
  ],
  [
    `${server}capabilities: [{ provider: OLLAMA, model: m, endpoint: "http://models.example", api_key_file: k }]`,
    "would send the key unencrypted",
  ],
  [
    `${server}capabilities:\n  - { provider: OLLAMA, model: m }\n  - { provider: OLLAMA, model: m }`,
    "4: capabilities.1.model: this provider has this model already",
  ],
  [
    `${server}capabilities: [{ provider: OLLAMA, model: m, timeout: 0 }]`,
    "2: capabilities.0.timeout: must be a number of seconds from 0.001 to 3600",
  ],
  [
    `${server}security: { allowed_path_prefixes: [src/, ../other] }`,
    "2: security.allowed_path_prefixes.1: must not contain ..",
  ],
  [
    `${server}security: { forbidden_absolute_paths: [secrets] }`,
    "2: security.forbidden_absolute_paths.0: must start with / or ~/",
  ],
  [
    `${server}security: { job_signing_public_key: CANARY }`,
    "2: security.job_signing_public_key: must be an Ed25519 public key in PEM",
  ],
  [
    `${server}execution: { agents: [{ name: chat }] }`,
    "2: execution.agents.0.name: is the name of the built-in agent",
  ],
  [
    `${server}execution: { agents: [{ name: default }] }`,
    "2: execution.agents.0.name: means the first agent",
  ],
  [
    `${server}execution: { agents: [{ name: a }, { name: a }] }`,
    "2: execution.agents.1.name: is the name of another agent",
  ],
  [
    `${server}execution: { agents: [{ name: roo-code }], roo_code: {} }`,
    "2: execution.agents.0.name: roo_code is set too",
  ],
  [
    `${server}execution: { agents: [{ name: a, command: [] }] }`,
    "2: execution.agents.0.command: must have at least 1 entry",
  ],
  [
    `${server}execution: { agents: [{ name: a, env_from_worker: [A-B] }] }`,
    "env_from_worker.0: must be a variable name",
  ],
  [
    `${server}execution: { roo_code: { task_file: /etc/passwd } }`,
    "2: execution.roo_code.task_file: must be relative",
  ],
  [
    `${server}execution: { secrets: { A-B: { file: k } } }`,
    "2: execution.secrets.A-B: must be a variable name",
  ],
  [`${server}execution:\n  secrets:\n    KEY: { file: gone }`, "4: execution.secrets.KEY.file: "],
  [`${server}logging: { format: "%(name)s %(message)s" }`, "2: logging.format: %(name)s is not known"],
  [
    `${server}logging: { backup_count: many }`,
    "2: logging.backup_count: must be a whole number from 0 to 1000",
  ],
])("%s is refused with key, line and what is allowed", async (text, message) => {
  expect((await refusalOf(text)).message).toContain(message);
});

test("all problems are listed at once, in the order of the file", async () => {
  const { message, details } = await refusalOf(
    `${server}execution: { slots: 0 }\nlogging: { level: loud, fil: x }\n`,
  );
  expect(message).toContain(":2: execution.slots: must be a whole number from 1 to 10000");
  const [, level, unknown, ...rest] = (details?.["issues"] ?? []) as { key: string; line: number }[];
  expect(level).toMatchObject({ key: "logging.level", line: 3 });
  expect(unknown).toMatchObject({ key: "logging.fil", line: 3 });
  expect(rest).toEqual([]);
  expect(details?.["list"]).toContain("logging.fil: is not a known key; known here: level, file,");
});

test("files with secrets must exist and be private, and paths are relative to the file", async () => {
  write("open.key", "CANARY", 0o644);
  mkdirSync(join(dir, "folder"));
  const { details } = await refusalOf(
    `${server}execution:\n  secrets:\n    A: { file: open.key }\n    B: { file: ~/b.key }\n    C: { file: folder }\n`,
  );
  expect(details?.["issues"]).toEqual([
    {
      key: "execution.secrets.A.file",
      line: 4,
      message: expect.stringContaining("(mode 0644); run: chmod 600"),
    },
    { key: "execution.secrets.B.file", line: 5, message: "/home/ann/b.key does not exist" },
    { key: "execution.secrets.C.file", line: 6, message: `${join(dir, "folder")} is not a regular file` },
  ]);
});

test("an invalid authority is refused at its key", async () => {
  write("ca.crt", "CANARY");
  const named = "server: { url: https://hub, worker_token: CANARY, ca_file: ca.crt }";
  expect((await refusalOf(named)).message).toContain("1: server.ca_file: ");
  const within = "server: { url: https://hub, worker_token: CANARY, ca: CANARY }";
  expect((await refusalOf(within)).message).toContain("1: server.ca: must be a certificate in PEM");
});

test("the paths of a loaded file are absolute", async () => {
  const key = write("k", "x");
  const { capabilities, execution } = await load(
    `${server}capabilities: [{ provider: OLLAMA, model: m, endpoint: "https://m", api_key_file: k }]\n` +
      "execution: { secrets: { K: { file: ./k } }, agents: [{ name: a, home: ~/a }] }\n",
  );
  expect(capabilities?.[0]?.api_key_file).toBe(key);
  expect(execution).toMatchObject({ secrets: { K: { file: key } }, agents: [{ home: "/home/ann/a" }] });
});
