import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { hasModule, hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

const run = promisify(execFile);
const hasPackage = hasModule("cryptography");

const workerProgram = `
from writ import Worker
worker = Worker(worker_id="python", slots=2)
@worker.handle("double")
def double(params, job):
    return params["n"] * 2
worker.run()`;

// A hub that others can reach speaks TLS with the certificate of its home.
describe.runIf(hasPython)(`the Python package over TLS${pythonNote}`, () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-python-"));
  let hub: TestHub;
  let writ: Writ;
  let worker: ChildProcess;
  let env: Record<string, string>;

  beforeAll(async () => {
    hub = await startTestHub({ WRIT_HOST: "0.0.0.0", WRIT_PUBLIC_URL: "https://localhost" });
    const url = `https://127.0.0.1:${hub.port}`;
    const caFile = join(hub.home, "certs/ca.crt");
    writ = new Writ({ url, token: hub.admin, caFile });
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
    env = pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: url,
      WRIT_TOKEN: hub.admin,
      WRIT_CA_FILE: caFile,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });
    worker = spawn("python3", ["-u", "-c", workerProgram], {
      env,
      cwd: dir,
      stdio: ["ignore", "ignore", "inherit"],
    });
  });
  afterAll(async () => {
    if (worker?.exitCode === null && worker.kill("SIGTERM")) await once(worker, "exit");
    writ?.close();
    await hub?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const inPython = async (code: string, more: Record<string, string> = {}): Promise<string> =>
    (await run("python3", ["-c", code], { env: { ...env, ...more }, cwd: dir })).stdout.trim();

  test("a hub whose authority is not known is refused, and plain text to another machine too", async () => {
    const code = `
from writ import Writ, WritError
try:
    Writ(retry_sec=0).list()
except WritError as error:
    print(error.code)`;
    expect(await inPython(code, { WRIT_CA_FILE: "/etc/ssl/certs/ca-certificates.crt" })).toBe(
      "HUB_UNREACHABLE",
    );
    expect(await inPython(code, { WRIT_HUB_URL: "http://192.0.2.1:3000" })).toBe("CONFIG_INVALID");
  });

  test("a worker says where to get the hub's keys if it has none, or the file has none", async () => {
    writeFileSync(join(dir, "agents.yaml"), "security:\n  job_signing_public_keys: []\n");
    const code = `
from writ import Worker, WritError
try:
    Worker(worker_id="python")
except WritError as error:
    print(error)`;
    const said = (file: string) => inPython(code, { WRIT_SIGNING_KEYS_FILE: file });
    expect(await said("")).toMatch(/^CONFIG_INVALID: no key .* WRIT_SIGNING_KEYS_FILE .*`writ keys export/);
    expect(await said("agents.yaml")).toMatch(
      /^CONFIG_INVALID: agents.yaml is not .* PEM; `writ keys export/,
    );
    expect(await said("none.pem")).toBe(
      "CONFIG_INVALID: none.pem: the hub's keys cannot be read: No such file or directory",
    );
  });

  test("a batch of more jobs than one call takes has its ids in order, and all of them are handled", async () => {
    const code = `
from writ import Writ
writ = Writ()
ids = writ.submit_many({"type": "double", "params": {"n": n}} for n in range(1201))
print(len(set(ids)), [writ.result(ids[n], timeout_sec=120) for n in (0, 999, 1000, 1200)])`;
    expect(await inPython(code)).toBe("1201 [0, 1998, 2000, 2400]");
  });

  test("a worker takes over the hub's new key while it runs, and jobs that it signs are handled", async () => {
    const before = activeKey(hub).keyId;
    await writ.rotateKeys();
    await eventually("the new key signs", () => activeKey(hub).keyId !== before);
    const { id } = await writ.submit({ type: "double", params: { n: 21 } });
    const job = await eventually("it has ended", async () => {
      const view = await writ.get(id);
      return view.completed_at !== null && view;
    });
    expect(job).toMatchObject({ status: "completed", worker_id: "python", result: 42 });
  });
});

test.skipIf(!hasPython || !hasPackage)(
  `OpenSSL and the package cryptography agree on keys and signatures${hasPackage ? "" : " (not capable: no python3 with cryptography)"}`,
  async () => {
    const code = `
import os
from writ import ed25519
ours, theirs = ed25519.load_openssl(), ed25519.Cryptography()
for length in range(64):
    seed, message = os.urandom(32), os.urandom(length)
    public, signature = ours.public_of(seed), ours.sign(seed, message)
    assert (public, signature) == (theirs.public_of(seed), theirs.sign(seed, message))
    wrong = bytes([signature[length] ^ 1])
    changed = [signature[:length] + wrong + signature[length + 1:], signature[:63], b"", bytes(64)]
    for way in (ours, theirs):
        assert way.verify(public, signature, message)
        assert not way.verify(public, signature, message + b"x")
        assert not any(way.verify(public, other, message) for other in changed)
        assert not way.verify(b"short", signature, message)
print("same")`;
    expect((await run("python3", ["-c", code], { env: pythonEnv({}) })).stdout).toBe("same\n");
  },
);
