import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { enrollWorker } from "./enroll-worker.ts";
import { sendJson, startTinyHub } from "./testing/tiny-hub.ts";
import { Writ } from "./writ.ts";

async function open() {
  const dir = await mkdtemp(join(tmpdir(), "writ-enrol-"));
  const key = {
    key_id: "0123456789abcdef",
    public_key: "PEM one",
    status: "active",
    not_before: 0,
    not_after: null,
  };
  const hub = await startTinyHub(({ method, path }, response) => {
    if (path === "/keys")
      return sendJson(response, 200, { keys: [key, { ...key, public_key: "PEM two", status: "revoked" }] });
    if (method === "DELETE") return void response.writeHead(204).end();
    sendJson(response, 201, { id: "t1", token: "sk_worker_secret" });
  });
  const writ = new Writ({ url: hub.url, token: "sk_admin_x" });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });
  return { hub, writ, file: join(dir, "agents.yaml") };
}

test("a name that is not a valid worker id is refused before a token is made", async () => {
  const { hub, writ, file } = await open();
  await expect(enrollWorker(writ, { name: "a b", hubUrls: [hub.url], file })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  expect(hub.seen).toEqual([]);
});

test("a token that could not be written down is revoked", async () => {
  const { hub, writ, file } = await open();
  const nowhere = join(dirname(file), "missing", "agents.yaml");
  await expect(enrollWorker(writ, { name: "w1", hubUrls: [hub.url], file: nowhere })).rejects.toThrow();
  expect(hub.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /keys",
    "POST /tokens",
    "DELETE /tokens/t1",
  ]);
});

test("the file is private and holds address, token and the keys that are valid", async () => {
  const { hub, writ, file } = await open();

  await enrollWorker(writ, { name: "w1", hubUrls: ["https://a:1", "https://b:2"], caPem: "PEM ca", file });

  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(parse(await readFile(file, "utf8"))).toEqual({
    server: {
      url: "https://a:1,https://b:2",
      worker_id: "w1",
      worker_token: "sk_worker_secret",
      ca: "PEM ca",
    },
    security: { job_signing_public_keys: ["PEM one"] },
  });
  const asked = hub.seen.find(({ path }) => path === "/tokens");
  expect(JSON.parse(asked!.body)).toEqual({ role: "worker", worker_id: "w1" });
});

test("what a person has written into the file stays", async () => {
  const { hub, writ, file } = await open();
  await writeFile(file, "# mine\nserver:\n  location: CLOUD\nexecution:\n  slots: 2\n", { mode: 0o600 });

  await enrollWorker(writ, { name: "w1", hubUrls: [hub.url], file, token: "sk_worker_kept" });

  const text = await readFile(file, "utf8");
  expect(text).toContain("# mine");
  expect(parse(text)).toMatchObject({
    server: { location: "CLOUD", worker_token: "sk_worker_kept" },
    execution: { slots: 2 },
  });
  expect(hub.seen.map(({ path }) => path)).toEqual(["/keys"]);
});
