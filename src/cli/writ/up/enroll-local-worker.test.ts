import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Writ } from "../../../client/index.ts";
import { sendError, sendJson, startTinyHub } from "../../../client/testing/tiny-hub.ts";
import { enrollLocalWorker } from "./enroll-local-worker.ts";

/** A hub that knows its tokens and its keys. */
async function open() {
  const home = await mkdtemp(join(tmpdir(), "writ-local-"));
  const tokens = new Set<string>();
  const keys = ["PEM one"];
  let made = 0;
  const hub = await startTinyHub(({ path, headers }, response) => {
    if (path === "/keys") {
      const rest = { key_id: "0123456789abcdef", status: "active", not_before: 0, not_after: null };
      return sendJson(response, 200, { keys: keys.map((public_key) => ({ ...rest, public_key })) });
    }
    if (path === "/session") {
      const token = headers.authorization?.replace("Bearer ", "") ?? "";
      if (!tokens.has(token)) return sendError(response, 401, "UNAUTHENTICATED");
      return sendJson(response, 200, { role: "worker", tenant_id: null, user_id: "w", worker_id: "host" });
    }
    const token = `sk_worker_${++made}`;
    tokens.add(token);
    sendJson(response, 201, { id: `t${made}`, token });
  });
  const writ = new Writ({ url: hub.url, token: "sk_admin_x" });
  const file = join(home, "agents.yaml");
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });
  const enroll = (changes: { name?: string; hubUrl?: string; cwd?: string } = {}) =>
    enrollLocalWorker(writ, { name: "host", home, hubUrl: hub.url, file, cwd: home, ...changes });
  return { home, hub, tokens, keys, enroll, made: () => made, text: () => readFile(file, "utf8") };
}

test("a token that the hub no longer knows is replaced", async () => {
  const { enroll, tokens, text } = await open();
  await enroll();
  tokens.clear();
  await enroll();
  expect(await text()).toContain("sk_worker_2");
});

test("another name needs another token", async () => {
  const { enroll, made } = await open();
  await enroll();
  await enroll({ name: "other" });
  expect(made()).toBe(2);
});

test("a second start leaves the file as it is", async () => {
  const { enroll, made, text } = await open();
  await enroll();
  const before = await text();
  await enroll();
  expect(await text()).toBe(before);
  expect(made()).toBe(1);
});

test("a new address and new keys are written down, and the token is kept", async () => {
  const { enroll, hub, keys, made, text } = await open();
  await enroll();
  keys.push("PEM two");
  await enroll({ hubUrl: hub.url.replace("127.0.0.1", "localhost") });
  expect(await text()).toContain("PEM two");
  expect(await text()).toContain("http://localhost");
  expect(made()).toBe(1);
});

test("O-02: a new worker takes repositories from the checkout in which it was started, until somebody changes that", async () => {
  const { home, enroll, keys, text } = await open();
  await mkdir(join(home, "project/.git"), { recursive: true });
  await mkdir(join(home, "project/src"));
  await enroll({ cwd: join(home, "project/src") });
  expect(await text()).toContain(`repo_roots:\n    - ${join(home, "project")}\n`);
  keys.push("PEM two");
  await enroll();
  expect(await text()).toContain(`repo_roots:\n    - ${join(home, "project")}\n`);
});

test("O-02: outside of a checkout a new worker names no place for repositories", async () => {
  const { enroll, text } = await open();
  await enroll({ cwd: "/" });
  expect(await text()).not.toContain("repo_roots");
});
