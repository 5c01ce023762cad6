import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { issueToken } from "../support/tokens.ts";
import { issueTo, type RpcHub, type Stub, startRpcHub, stubFor } from "./rpc-hub.ts";

const settings = `
commands:
  deny: [reboot, /opt/secret]
  users:
    alice: { allow: [ls, /opt/tool, reboot] }
    bob: { deny: [rm] }
quotas:
  tiny_tenant: { max_pending: 1 }
`;

let hub: RpcHub;
const stubs: Record<string, Stub> = {};
const tokens: Record<string, string> = {};

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-rpc-"));
  writeFileSync(join(home, "writ.yaml"), settings, { mode: 0o600 });
  hub = await startRpcHub({}, { home });
  for (const user of ["alice", "bob", "toString"]) {
    stubs[user] = stubFor(hub, await issueTo(hub, user, "acme"));
    tokens[user] = (await issueToken(hub, { role: "user", tenant_id: "acme", user_id: user })).token;
  }
});
afterAll(async () => {
  for (const stub of Object.values(stubs)) stub.close();
  await hub.stop();
});

const denied: [string, string][] = [
  ["alice", "cat"],
  ["alice", "/tmp/ls"],
  ["alice", "/bin/../tmp/ls"],
  ["alice", "reboot"],
  ["alice", "tool"],
  ["bob", "reboot"],
  ["bob", "/sbin/reboot"],
  ["bob", "/opt/secret"],
  ["bob", "rm"],
  ["bob", "./rm"],
  ["toString", "reboot"],
];

test.each(denied)(
  "%s may not run %s, through neither door; it is noted, and no job exists",
  async (user, program) => {
    const [before, state] = [lastSeq(hub.home), snapshot(hub.home)];
    const refusal = await stubs[user]!.refused("StartJob", { command: [program, "x"] });
    expect(refusal).toMatchObject({
      code: 7,
      details: `user ${user} may not run ${JSON.stringify(program)}`,
    });
    const body = { type: "t", run: { kind: "exec", argv: [program] } };
    const single = await hub.call("POST", "/jobs", { token: tokens[user]!, body });
    expect(single).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    const harmless = { type: "t", run: { kind: "handler" } };
    const batch = await hub.call("POST", "/jobs/batch", {
      token: tokens[user]!,
      body: { jobs: [harmless, body] },
    });
    expect(batch).toMatchObject({ status: 403, code: "PERMISSION_DENIED" });
    const events = readEvents(hub.home, before);
    expect(events.map(({ event, origin }) => [event, origin?.userId])).toEqual(
      Array(3).fill(["PERMISSION_DENIED", user]),
    );
    expect(snapshot(hub.home)).toBe(state);
  },
);

const allowed: [string, string][] = [
  ["alice", "ls"],
  ["alice", "/usr/bin/ls"],
  ["alice", "/opt/tool"],
  ["bob", "cat"],
  ["bob", "secret"],
  ["toString", "rm"],
];

test.each(allowed)("%s may run %s", async (user, program) => {
  expect(await stubs[user]!.call("StartJob", { command: [program] })).toHaveProperty("job_id");
});

test("quotas of the file hold from the start", async () => {
  const tess = stubFor(hub, await issueTo(hub, "tess", "tiny_tenant"));
  await tess.call("StartJob", { command: ["true"] });
  expect(await tess.refused("StartJob", { command: ["true"] })).toMatchObject({
    code: 8,
    writCode: "QUOTA_EXCEEDED",
  });
  tess.close();
});

const mistakes: [string, RegExp][] = [
  ["commands:\n  denny: [x]\n", /writ\.yaml:2: commands\.denny: is an unknown key/],
  ["commands:\n  deny: reboot\n", /writ\.yaml:2: commands\.deny: /],
  ["commands:\n  users:\n    'a b': {}\n", /writ\.yaml:3: commands\.users\.a b: /],
  ["users: [alice, 'b/c']\n", /writ\.yaml:1: users\.1: must be 1 to 50/],
  ["quotas:\n  default: { max_pending: -1 }\n", /writ\.yaml:2: quotas\.default\.max_pending: must be/],
  ["quotas:\n  default: { max: 1 }\n", /writ\.yaml:2: quotas\.default\.max: is an unknown key/],
];

test.each(mistakes)("a mistake in the file stops the start with its line: %j", async (text, message) => {
  const home = mkdtempSync(join(tmpdir(), "writ-rpc-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(join(home, "writ.yaml"), text, { mode: 0o600 });
  await expect(startRpcHub({}, { home })).rejects.toThrow(message);
});
