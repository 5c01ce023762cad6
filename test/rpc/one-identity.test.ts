import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { issueHomeCert, revokeCerts } from "../../src/hub/admin.ts";
import { type Around, type CliRun, runCli } from "../support/run-cli.ts";
import { issueToken } from "../support/tokens.ts";
import { issueTo, rpcHubForAll, type Stub, start, stubForAll } from "./rpc-hub.ts";

function jobctl(args: string[], around: Around): Promise<CliRun> {
  return runCli("jobctl", args, around);
}

const hub = rpcHubForAll();
const root = stubForAll(hub, () => hub.root);
const alice = stubForAll(hub, () => issueTo(hub, "alice", "acme"));
const emptyHome = mkdtempSync(join(tmpdir(), "writ-empty-"));
afterAll(() => rmSync(emptyHome, { recursive: true, force: true }));

const env = {
  /** As in CI: an address and a token, and a home that holds nothing. */
  token: {} as Record<string, string>,
  /** As `writ certs issue` makes it: a folder with a certificate. */
  certificate: {} as Record<string, string>,
  /** The hub's own home. */
  home: {} as Record<string, string>,
};

beforeAll(async () => {
  const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "carol" });
  Object.assign(env.token, { WRIT_HOME: emptyHome, WRIT_HUB_URL: hub.url, WRIT_TOKEN: token });
  Object.assign(env.certificate, { WRIT_HOME: await issueFolder("carol", "acme") });
  Object.assign(env.home, { WRIT_HOME: hub.home, WRIT_USER: "root" });
});

async function issueFolder(user: string, tenant: string, isAdmin = false): Promise<string> {
  const out = join(hub.home, `folder-${user}-${crypto.randomUUID()}`);
  const call = { home: hub.home, env: {}, osUser: "root", nowMs: Date.now() };
  await issueHomeCert({ ...call, user, tenant, isAdmin, out });
  return out;
}

async function ok(args: string[], around: Record<string, string>): Promise<string> {
  const ended = await jobctl(args, { env: around });
  expect(ended, args.join(" ")).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout;
}

async function json(args: string[], around: Record<string, string>): Promise<Record<string, unknown>> {
  return JSON.parse(await ok(["--json", ...args], around));
}

async function listed(around: Record<string, string>): Promise<unknown[]> {
  const lines = (await ok(["--json", "list", "--all"], around)).trim().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line).job_id);
}

describe("C1: a credential that was given is used or refused, never replaced", () => {
  test("C1: a wrong token is refused, though the home holds a certificate and a token", async () => {
    for (const args of [["list"], ["workers"], ["start", "true"], ["whoami"]]) {
      const given = { WRIT_HOME: hub.home, WRIT_TOKEN: "sk_user_wrong" };
      const inEnvironment = await jobctl(args, { env: given });
      const asFlag = await jobctl(["--token", "sk_user_wrong", ...args], { env: env.home });
      expect([inEnvironment, asFlag], args[0]).toMatchObject([{ code: 5 }, { code: 5 }]);
    }
  });

  test("an empty token is refused before anything is sent", async () => {
    for (const args of [["list"], ["workers"], ["whoami"]]) {
      const inEnvironment = await jobctl(args, { env: { WRIT_HOME: hub.home, WRIT_TOKEN: "" } });
      const asFlag = await jobctl(["--token", "", ...args], { env: env.home });
      expect([inEnvironment, asFlag], args[0]).toMatchObject([
        { code: 2, stdout: "", stderr: "jobctl: WRIT_TOKEN is empty; give a token, or leave it out\n" },
        { code: 2, stdout: "", stderr: "jobctl: --token is empty; give a token, or leave it out\n" },
      ]);
    }
  });

  test("C1: a user's token in an administrator's home acts as the user", async () => {
    const { WRIT_TOKEN } = env.token;
    const around = { WRIT_HOME: hub.home, WRIT_TOKEN: WRIT_TOKEN! };
    expect(await json(["whoami"], around)).toMatchObject({ user: "carol", tenant: "acme", role: "user" });
    const id = await start(root);
    expect(await listed(around)).not.toContain(id);
    expect(await listed(env.home)).toContain(id);
  });

  test("C1: a certificate of another user is not replaced by the home's token", async () => {
    const cert = join(await issueFolder("dave", "acme"), "client.crt");
    const around = { WRIT_HOME: hub.home, WRIT_CERT_FILE: cert };
    expect(await json(["whoami"], around)).toMatchObject({ user: "dave", tenant: "acme", role: "user" });
    expect((await jobctl(["audit"], { env: around })).code).toBe(5);
  });

  test("C1: a flag beats the environment, and a token beside a certificate is refused", async () => {
    const cert = join(await issueFolder("erin", "acme"), "client.crt");
    expect(
      await json(["--cert", cert, "whoami"], { ...env.home, WRIT_TOKEN: "sk_user_wrong" }),
    ).toMatchObject({ user: "erin", credential: expect.stringContaining("--cert") });
    const both = await jobctl(["--token", "sk_user_x", "--cert", cert, "list"], { env: env.home });
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("--token and --cert") });
  });
});

/** Each command once, on a job of its own. */
async function walk(around: Record<string, string>): Promise<void> {
  const id = (await ok(["start", "sleep", "60"], around)).trim();
  expect(await json(["status", id], around)).toMatchObject({ job_id: id, state: "QUEUED", user: "carol" });
  expect(await listed(around)).toContain(id);
  expect(await json(["why", id], around)).toMatchObject({ status: "pending" });
  expect(await ok(["events", id], around)).toContain("created");
  expect(await ok(["stream", "--no-follow", id], around)).toBe("");
  expect(await ok(["stop", id], around)).toContain("STOPPED");
  expect(await ok(["stream", id], around)).toBe("");
  expect(await jobctl(["attach", id], { env: around })).toMatchObject({ code: 143 });
  expect(await jobctl(["stop", id], { env: around })).toMatchObject({ code: 1 });
  expect(await ok(["retry", id], around)).toContain("QUEUED");
  expect(await jobctl(["result", id], { env: around })).toMatchObject({ code: 1 });
  const submitted = (await ok(["submit", "t"], around)).trim();
  expect(await ok(["status", submitted.slice(-8)], around)).toContain(submitted);
  expect(await jobctl(["verify", id], { env: around })).toMatchObject({ code: 4 });
  expect(await jobctl(["audit"], { env: around })).toMatchObject({ code: 5 });
}

test("C1: with an address and a token alone every command works", () => walk(env.token));
test("C1: a person from `writ certs issue` can use every command", () => walk(env.certificate));

test("C1: the same job is shown alike with a token and with a certificate", async () => {
  const id = (await ok(["start", "--env", "A=b", "--cwd", "/tmp", "echo", "hi"], env.token)).trim();
  expect(await json(["status", id], env.certificate)).toEqual(await json(["status", id], env.token));
  const overGrpc = (
    await ok(["start", "--env", "A=b", "--cwd", "/tmp", "echo", "hi"], env.certificate)
  ).trim();
  const strip = ({ job_id: _, created_at: __, ...job }: Record<string, unknown>) => job;
  expect(strip(await json(["status", overGrpc], env.token))).toEqual(
    strip(await json(["status", id], env.token)),
  );
});

test("C1: root's token and root's certificate see the same jobs, of all tenants", async () => {
  const ids = [await start(root), await start(alice)];
  const byToken = await listed({ WRIT_HOME: emptyHome, WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin });
  const byCertificate = await listed(env.home);
  expect(byCertificate).toEqual(byToken);
  expect(byToken).toEqual(expect.arrayContaining(ids));
  expect(await json(["whoami"], env.home)).toMatchObject({ user: "root", tenant: null, role: "admin" });
});

test("C1: another certificate with OU=admin administers its own tenant only", async () => {
  const id = await start(root);
  const ada = { WRIT_HOME: await issueFolder("ada", "acme", true) };
  expect(await json(["whoami"], ada)).toMatchObject({ user: "ada", tenant: "acme", role: "admin" });
  expect(await jobctl(["status", id], { env: ada })).toMatchObject({ code: 4 });
  expect(await jobctl(["why", id], { env: ada })).toMatchObject({ code: 4 });
});

test("C1: a home with a token and no certificate works over HTTP", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-token-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const name of ["hub.json", "admin.token"]) copyFileSync(join(hub.home, name), join(home, name));
  const id = await start(root);
  expect(await listed({ WRIT_HOME: home })).toContain(id);
});

test("C1: the address of the home's own hub finds its gRPC port too", async () => {
  expect(await listed({ ...env.home, WRIT_HUB_URL: hub.url })).toEqual(await listed(env.home));
});

describe("C1: the token that stands for a certificate", () => {
  async function exchange(stub: Stub): Promise<string> {
    const { token } = await stub.call<{ token: string }>("ExchangeCertificate", {});
    return token;
  }

  test("C1: it is the person of the certificate", async () => {
    const { token, expires_at } = await alice.call<{ token: string; expires_at: number }>(
      "ExchangeCertificate",
      {},
    );
    expect(expires_at - Date.now()).toBeLessThanOrEqual(600_000);
    expect((await hub.call("GET", "/session", { token })).json()).toEqual({
      user_id: "alice",
      tenant_id: "acme",
      role: "user",
      worker_id: null,
    });
    const id = await start(alice);
    expect((await hub.call("GET", `/jobs/${id}`, { token })).status).toBe(200);
  });

  test("C1: it is void as soon as the certificate is revoked", async () => {
    const { serial, ...pair } = await issueTo(hub, "frank", "acme");
    const { stubFor } = await import("./rpc-hub.ts");
    const frank = stubFor(hub, pair);
    const token = await exchange(frank);
    frank.close();
    expect((await hub.call("GET", "/session", { token })).status).toBe(200);
    await revokeCerts(hub.home, { serial, nowMs: Date.now() });
    expect((await hub.call("GET", "/session", { token })).status).toBe(401);
  });

  test("C1: one that was altered is no token", async () => {
    const token = await exchange(alice);
    const [head, mac] = token.split(".") as [string, string];
    const facts = JSON.parse(Buffer.from(head.slice("sk_cert_".length), "base64url").toString());
    facts.subject.isAdmin = true;
    const forged = Buffer.from(JSON.stringify(facts)).toString("base64url");
    for (const wrong of [`sk_cert_${forged}.${mac}`, head, `${head}.`, `${token}.x`, "sk_cert_"]) {
      expect((await hub.call("GET", "/session", { token: wrong })).status, wrong).toBe(401);
    }
  });

  test("C1: it opens no session and cannot be refreshed", async () => {
    const token = await exchange(root);
    expect((await hub.call("POST", "/session", { token, body: {} })).status).toBe(403);
    expect((await hub.call("POST", "/tokens/refresh", { token, body: {} })).status).toBe(409);
  });

  test("C1: it is in no log", async () => {
    const token = await exchange(alice);
    await hub.call("GET", "/session", { token });
    expect(readFileSync(join(hub.home, "logs", "hub.log"), "utf8")).not.toContain(token);
  });
});

test("C1: an address of a program's own option and a filter of the same name do not mix", async () => {
  const { stdout }: CliRun = await jobctl(["--json", "audit", "--user", "nobody-of-that-name"], {
    env: env.home,
  });
  expect(stdout).toBe("");
});

test("C8: a refused token is explained, and our own redactor leaves the explanation alone", async () => {
  const around = { WRIT_HOME: emptyHome, WRIT_HUB_URL: hub.url };
  const wrong = await jobctl(["list"], { env: { ...around, WRIT_TOKEN: "sk_user_wrong" } });
  expect(wrong.stderr).toBe(
    "jobctl: the token is not valid: it is unknown, revoked or expired; give a valid token with --token or WRIT_TOKEN, or a certificate with --cert\n",
  );
  const none = await jobctl(["workers"], { env: around });
  expect(none.stderr).toMatch(
    /^jobctl: no token was sent; send one in the header Authorization, after the word Bearer; /,
  );
});
