import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startCli } from "../support/run-cli.ts";
import { list, rpcHubForAll, startRpcHub, stubForAll } from "./rpc-hub.ts";

const hub = rpcHubForAll();
const root = stubForAll(hub, () => hub.root);

/** As a person with the hub's own home, or with an address and a token alone. */
function around(kind: "certificate" | "token"): Record<string, string> {
  if (kind === "certificate") return { WRIT_HOME: hub.home, WRIT_USER: "root" };
  const home = mkdtempSync(join(tmpdir(), "writ-empty-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return { WRIT_HOME: home, WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin };
}

async function newestId(): Promise<string> {
  const [job] = await list(root);
  return job!.job_id;
}

test.each(["certificate", "token"] as const)(
  "C2: run with a %s says what it waits for, and again when it changes",
  async (kind) => {
    const run = startCli("jobctl", ["run", "true"], { env: around(kind), isTTY: true });
    await expect.poll(() => run.stderr.text).toContain("jobctl: waiting: No worker is registered");
    await hub.must("PUT", "/queues/exec", { token: hub.admin, body: { paused: true } });
    await expect.poll(() => run.stderr.text).toContain("jobctl: waiting: Type exec is paused");
    await hub.must("PUT", "/queues/exec", { token: hub.admin, body: { paused: false } });
    await hub.must("DELETE", `/jobs/${await newestId()}`, { token: hub.admin });
    expect(await run.ended).toMatchObject({ code: 143, stdout: "" });
  },
);

test.each([
  ["attach", [] as string[]],
  ["stream", [] as string[]],
])("C2: %s says what it waits for", async (name, flags) => {
  const started = await startCli("jobctl", ["start", "true"], { env: around("token") }).ended;
  const id = started.stdout.trim();
  const follow = startCli("jobctl", [name, ...flags, id], { env: around("token"), isTTY: true });
  await expect.poll(() => follow.stderr.text).toContain("jobctl: waiting: No worker is registered");
  await hub.must("DELETE", `/jobs/${id}`, { token: hub.admin });
  await follow.ended;
});

test("C2: submit --wait says what it waits for", async () => {
  const wait = startCli("jobctl", ["submit", "some.type", "--wait"], { env: around("token"), isTTY: true });
  await expect.poll(() => wait.stderr.text).toContain("jobctl: waiting: No worker is registered");
  const [, id] = /^jobctl: job (\S+)$/m.exec(wait.stderr.text)!;
  await hub.must("DELETE", `/jobs/${id}`, { token: hub.admin });
  expect(await wait.ended).toMatchObject({ code: 1, stdout: "" });
});

test("C2: run names the job when it can no longer follow it, and the hub that it was told", async () => {
  const own = await startRpcHub();
  onTestFinished(() => rmSync(own.home, { recursive: true, force: true }));
  const run = startCli("jobctl", ["--home", own.home, "run", "--hub", own.url, "true"], {
    env: { WRIT_TOKEN: own.admin },
    isTTY: true,
  });
  await expect.poll(() => run.stderr.text).toContain("waiting: No worker is registered");
  const [token] = (await own.must("GET", "/tokens", { token: own.admin })).json<{ id: string }[]>();
  const [job] = (await own.must("GET", "/jobs", { token: own.admin })).json<{ id: string }[]>();
  // Its token ends under its hands.
  await own.must("DELETE", `/tokens/${token!.id}`, { token: own.admin });
  const ended = await run.ended;
  expect(ended).toMatchObject({
    code: 125,
    stderr: expect.stringContaining(`jobctl --home ${own.home} --hub ${own.url} attach ${job!.id}\n`),
  });
  await own.stop({ keepHome: true });
});
