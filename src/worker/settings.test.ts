import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { generateSigningKey } from "../signing/ed25519.ts";
import { loadWorkerSettings } from "./settings.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-settings-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const enough = { HUB_URL: "http://localhost:3000", WRIT_TOKEN: "sk_worker_x" };

function load(env: Record<string, string>, configFile?: string) {
  return loadWorkerSettings({ env, configFile, home: dir, hostName: "my host" });
}

function agentsFile(text: string, mode = 0o600): string {
  const path = join(dir, "agents.yaml");
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const server = "server:\n  url: https://hub:3000\n  worker_token: sk_worker_file\n";

test("without a hub or a token the worker does not start", async () => {
  await expect(load({ WRIT_TOKEN: "x" })).rejects.toThrow("HUB_URL is not set");
  await expect(load({ HUB_URL: "http://localhost" })).rejects.toThrow("WRIT_TOKEN is not set");
});

test("without either, the refusal says where to get a file that has both", async () => {
  await expect(load({})).rejects.toThrow(
    "or start with the file that `writ workers add NAME` makes at the hub: `writ worker --config agents.yaml`",
  );
});

test("no solver may be larger than the cache of all solvers", async () => {
  const settings = await load({
    ...enough,
    SOLVER_CACHE_MAX_BYTES: "1000",
    SOLVER_CACHE_DIR: "/var/cache/s",
  });
  expect(settings).toMatchObject({ solverCacheDir: "/var/cache/s", solverBytesMax: 1000 });
});

test.each([
  ["WORKER_SLOTS", "0", "a whole number from 1 to 10000"],
  ["WORKER_LOCATION", "MOON", "one of LOCAL_MACHINE, CLOUD"],
  ["WORKER_TAGS", "gpu", "a JSON list"],
  ["NODE_ID", "a b", "1 to 100 letters"],
  ["SOLVER_HOSTS", '["https://files.example/"]', 'a JSON list of hosts such as ["files.example"'],
  ["SOLVER_HOSTS", '["*.example","a:b"]', "a JSON list of hosts"],
])("%s=%s is refused with what is allowed", async (name, value, allowed) => {
  await expect(load({ ...enough, [name]: value })).rejects.toThrow(allowed);
});

test("the worker has every session of its agents once", async () => {
  const agents =
    "execution:\n  agents:\n    - {name: a, session: one}\n    - {name: b}\n    - {name: c, session: two}\n";
  const path = agentsFile(`${server}${agents}    - {name: d, session: one}\n`);
  expect((await load({}, path)).sessions).toEqual(["one", "two"]);
});

test("a file that others can read is refused", async () => {
  await expect(load({}, agentsFile(server, 0o640))).rejects.toThrow("chmod 600");
});

test("an unknown key is refused with its line, and no value is shown", async () => {
  const path = agentsFile(`${server}  tokn: sk_worker_secret\n`);
  const error = await load({}, path).catch((refused: Error) => refused);
  expect((error as Error).message).toContain(`${path}:4: server.tokn: is not a known key; known here: url,`);
  expect((error as Error).message).not.toContain("secret");
});

test("a wrong value is refused with its line", async () => {
  const path = agentsFile(`${server}execution:\n  limits: { cpu: lots }\n`);
  await expect(load({}, path)).rejects.toThrow(`${path}:5: execution.limits.cpu: must be cores`);
});

test.each([
  ["isolation: loose", "execution.isolation: "],
  ["visible_paths: [data]", "execution.visible_paths.0: it must be an absolute path"],
  ["visible_paths: [/opt/models, /proc/1]", "execution.visible_paths.1: /proc is reserved for the cage"],
])("the cage setting %s is refused", async (line, message) => {
  const path = agentsFile(`${server}execution:\n  ${line}\n`);
  await expect(load({}, path)).rejects.toThrow(`${path}:5: ${message}`);
});

test("a missing section is refused", async () => {
  await expect(load({}, agentsFile("logging: {}\n"))).rejects.toThrow("server: ");
});

test("an invalid signing key is refused at the start", async () => {
  const path = agentsFile(`${server}security: { job_signing_public_key: nonsense }\n`);
  await expect(load({}, path)).rejects.toThrow(
    `${path}:4: security.job_signing_public_key: must be an Ed25519`,
  );
});

test("a keys file without a key is refused, because the worker would trust any key of the hub", async () => {
  const path = join(dir, "keys.pem");
  writeFileSync(path, "");
  await expect(load({ ...enough, WRIT_SIGNING_KEYS_FILE: path })).rejects.toThrow("contains no public key");
});

test("the environment alone is enough", async () => {
  const pem = [0, 1].map(() => generateSigningKey().signingKey.publicKeyPem);
  writeFileSync(join(dir, "keys.pem"), pem.join(""));
  const settings = await load({
    ...enough,
    HUB_URL: "http://localhost:1, http://localhost:2",
    WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    WORKER_TAGS: '["gpu"]',
    WORKER_CORES: "3",
  });
  expect(settings).toMatchObject({
    hubUrls: ["http://localhost:1", "http://localhost:2"],
    workerId: "my-host",
    tags: ["gpu"],
    slots: 3,
    pollIntervalMs: 5000,
    heartbeatMs: 10000,
    drainMs: 30000,
    workDir: join(dir, "work"),
  });
  expect(settings.signingKeys).toHaveLength(2);
});

test("the file overrides the environment", async () => {
  writeFileSync(join(dir, "key"), "", { mode: 0o600 });
  const path = agentsFile(
    `${server}  worker_id: w7\n  poll_interval: 2\nexecution:\n  secrets: { KEY: { file: key } }\n`,
  );
  const settings = await load({ ...enough, NODE_ID: "other" }, path);
  expect(settings).toMatchObject({ token: "sk_worker_file", workerId: "w7", pollIntervalMs: 2000 });
  expect(settings.secrets).toEqual({ KEY: { file: join(dir, "key"), tenants: ["default"] } });
});

test("a file that the environment names is refused with the name of its variable", async () => {
  for (const name of ["WRIT_CA_FILE", "WRIT_SIGNING_KEYS_FILE"]) {
    await expect(load({ ...enough, [name]: "/gone" })).rejects.toThrow(
      `${name}: /gone cannot be read: ENOENT`,
    );
  }
});

test("without an agent or an endpoint the worker runs no delegate jobs", async () => {
  expect((await load(enough)).delegate).toBeUndefined();
  const capability = "capabilities: [{ provider: OLLAMA, model: m }]\n";
  expect((await load({}, agentsFile(server + capability))).delegate).toBeUndefined();
  const off = "execution: { roo_code: { enabled: false } }\n";
  expect((await load({}, agentsFile(server + off))).delegate).toBeUndefined();
});

test("the agents of the file reach the runner", async () => {
  writeFileSync(join(dir, "key"), "k", { mode: 0o600 });
  const path = agentsFile(`${server}
capabilities:
  - { provider: OLLAMA, model: m, endpoint: "https://m.example", timeout: 1.5, max_concurrent: 3, api_key_file: key }
  - { provider: OPENROUTER, model: n }
security: { allowed_path_prefixes: [src/], forbidden_absolute_paths: [~/private], repo_roots: [~/src, /srv/] }
execution:
  agents:
    - { name: a, command: [a, "{task_file}"], env_from_worker: [A_KEY, NOT_SET], home: ~/a, session: s, validate: [v] }
    - { name: b }
  roo_code: { task_file: T.md }
  max_file_size_bytes: 10
  max_total_size_bytes: 20
`);
  const { delegate } = await load({ A_KEY: "1", B_KEY: "2", HOME: "/home/ann" }, path);
  expect(delegate).toEqual({
    agents: [
      {
        name: "a",
        command: ["a", "{task_file}"],
        envFromWorker: ["A_KEY", "NOT_SET"],
        home: "/home/ann/a",
        session: "s",
        validate: ["v"],
      },
      { name: "b", envFromWorker: [], taskFile: "TASK.md", completionMarker: ".writ_completed" },
      { name: "roo-code", envFromWorker: [], taskFile: "T.md", completionMarker: ".roo_completed" },
      { name: "chat", builtin: "chat", envFromWorker: [] },
    ],
    capabilities: [
      {
        provider: "OLLAMA",
        model: "m",
        endpoint: "https://m.example",
        timeoutMs: 1500,
        maxConcurrent: 3,
        apiKeyFile: join(dir, "key"),
      },
      { provider: "OPENROUTER", model: "n", timeoutMs: 120_000 },
    ],
    allowedPathPrefixes: ["src/"],
    forbiddenPaths: [
      "/etc",
      "/root",
      "/sys",
      "/proc",
      "/home/ann/.ssh",
      "/home/ann/.aws",
      "/home/ann/.writ",
      "/home/ann/private",
      dir,
    ],
    repoRoots: ["/home/ann/src", "/srv"],
    maxFileBytes: 10,
    maxTotalBytes: 20,
    workerEnv: { A_KEY: "1" },
  });
});
