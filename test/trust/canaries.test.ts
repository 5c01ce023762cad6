import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startBotServer, type TestServer } from "../support/bot-server.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { WorkerProcess } from "../support/worker-process.ts";

/** One word for each secret, that nothing else in the world contains. */
const word = () => `Kanary${randomBytes(18).toString("hex")}`;
const { privateKey } = generateKeyPairSync("ed25519");
const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const canaries = {
  "admin token": `sk_admin_${word()}`,
  "signing key": pem.split("\n")[1]!,
  "bot token": `1234:${word()}`,
  "mail password": word(),
  "webhook secret": word(),
  "value of a job's environment": word(),
};
/** What the hub makes by itself and is read from its home or from an answer. */
const found: Record<string, string> = {};

let bot: TestServer;
let mail: MailServer;
let hub: HubProcess;
let worker: WorkerProcess;
const sinks: Record<string, string> = {};
const errorBodies: string[] = [];

const api = (path: string) => `${hub.url}/api/v1${path}`;

async function call(
  method: string,
  path: string,
  given: { token?: string; body?: unknown; raw?: string } = {},
) {
  const response = await fetch(api(path), {
    method,
    headers: {
      "Content-Type": "application/json",
      ...(given.token === undefined ? {} : { Authorization: `Bearer ${given.token}` }),
    },
    ...(given.body === undefined && given.raw === undefined
      ? {}
      : { body: given.raw ?? JSON.stringify(given.body) }),
  });
  const text = await response.text();
  if (response.status >= 400) errorBodies.push(text);
  return { status: response.status, text, json: () => JSON.parse(text) };
}

beforeAll(async () => {
  bot = await startBotServer();
  mail = await startMailServer({ user: "writ", password: canaries["mail password"] });
  hub = new HubProcess({
    WRIT_LOG_LEVEL: "trace",
    WRIT_BACKOFF_SCALE: "0",
    WRIT_ADMIN_TOKEN: canaries["admin token"],
    JOB_SIGNING_PRIVATE_KEY: pem,
    WRIT_TELEGRAM_BOT_TOKEN: canaries["bot token"],
    WRIT_TELEGRAM_CHAT_ID: "1",
    WRIT_TELEGRAM_API_URL: bot.url,
    WRIT_SMTP_URL: mail.url,
    WRIT_ALERT_FROM: "writ@example.org",
    WRIT_ALERT_TO: "ops@example.org",
    WRIT_WEBHOOK_URL: `${bot.url}/hook`,
    WRIT_WEBHOOK_SECRET: canaries["webhook secret"],
  });
  await hub.start();
  worker = new WorkerProcess(hub, "canary-worker");
  await worker.enrol();
  worker.start();
  await provoke();
  await collect();
});
afterAll(async () => {
  await worker?.remove();
  await hub?.remove();
  await Promise.all([bot?.stop(), mail?.stop()]);
});

/** Uses everything that handles a secret, rightly and wrongly. */
async function provoke(): Promise<void> {
  const admin = canaries["admin token"];
  found["seal key"] = readFileSync(join(hub.home, "keys", "mac.key"), "utf8").trim();
  found["worker token"] = /sk_worker_[\w-]+/.exec(readFileSync(join(worker.home, "agents.yaml"), "utf8"))![0];
  const issue = async (body: object): Promise<string> =>
    (await call("POST", "/tokens", { token: admin, body })).json().token;
  found["user token"] = await issue({ role: "user", tenant_id: "acme", user_id: "alice" });
  found["viewer token"] = await issue({ role: "viewer" });

  const live = new AbortController();
  const stream = await fetch(api("/jobs/events"), {
    headers: { Authorization: `Bearer ${admin}` },
    signal: live.signal,
  });
  const reading = readAll(stream);

  const env = { SECRET: canaries["value of a job's environment"] };
  const submit = async (run: object, token = found["user token"]!) =>
    (await call("POST", "/jobs", { token, body: { type: "canary", run: { kind: "exec", ...run } } })).json()
      .id;
  const id = await submit({ argv: ["sh", "-c", "tr '\\0' '\\n' < /proc/$PPID/cmdline; env"], env });
  await eventually(
    "the job is over",
    async () => (await call("GET", `/jobs/${id}`, { token: admin })).json().completed_at,
  );
  sinks["the job as a viewer sees it"] = (
    await call("GET", `/jobs/${id}`, { token: found["viewer token"]! })
  ).text;
  sinks["the environment of a job"] = (await call("GET", `/jobs/${id}/output/stdout`, { token: admin })).text;

  const facts = { cores: 1, ram_gb: 1, tags: ["by-hand"], types: ["by-hand"], kinds: ["exec"] };
  const body = { worker_id: "by-hand", ...facts };
  await call("POST", "/workers/register", { token: admin, body });
  await call("POST", "/jobs", {
    token: admin,
    body: {
      type: "by-hand",
      requires: { tags: ["by-hand"] },
      run: { kind: "exec", argv: ["true"] },
      output_location: { folder_id: "results" },
    },
  });
  const claim = (await call("POST", "/jobs/claim", { token: admin, body: { worker_id: "by-hand" } })).json();
  found["lease token"] = claim.token;
  found["job token"] = claim.job_token;
  const fence = { worker_id: "by-hand", attempt: claim.attempt, token: claim.token };
  const fresh = await call("POST", `/jobs/${claim.id}/token`, { token: admin, body: fence });
  found["signature of a fresh job token"] = fresh.json().job_token.split(".")[2];
  await call("POST", `/jobs/${claim.id}/token`, { token: admin, body: { ...fence, attempt: 99 } });
  await call("POST", `/jobs/${claim.id}/token`, {
    token: admin,
    body: { ...fence, token: claim.job_token, [claim.job_token]: fresh.json().job_token },
  });
  const stale = { ...fence, attempt: 99 };
  await call("POST", `/jobs/${claim.id}/result`, { token: admin, body: { ...stale, result: 1 } });
  const fail = { ...fence, reason: "it looked bad", code: "PATH_TRAVERSAL_ATTEMPT" };
  await call("POST", `/jobs/${claim.id}/fail`, { token: admin, body: fail });

  const login = await fetch(api("/session"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token: found["user token"] }),
  });
  found["session"] = login.headers.get("set-cookie")!.split(/[=;]/)[1]!;
  const refreshed = await call("POST", "/tokens/refresh", { token: found["viewer token"]!, body: {} });
  found["refreshed token"] = refreshed.json().token;

  // Wrong in every way, each time with a secret in hand.
  const inHand = ["worker token", "user token", "viewer token", "job token"].map((name) => found[name]!);
  for (const token of [...inHand, `${admin}x`]) {
    await call("GET", "/tokens", { token });
    await call("POST", "/jobs", { token, body: { type: "x", run: { kind: "exec", argv: [], env } } });
    await call("POST", "/workers/heartbeat", {
      token,
      body: { worker_id: "other", status: "active", current_jobs: [] },
    });
    await call("GET", `/jobs/${id}?access_token=${token}`, { token });
    await call("POST", "/session", { raw: `{"token":"${token}"` });
    await call("POST", "/session", { body: { token: `${token}y`, [token]: token } });
  }
  await eventually("the alerts are out", () => bot.heard.length >= 2 && mail.mails.length > 0);
  live.abort();
  sinks["live events"] = await reading;
}

async function readAll(stream: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of stream.body!) text += decoder.decode(chunk, { stream: true });
  } catch {
    // It was cut off on purpose.
  }
  return text;
}

async function collect(): Promise<void> {
  const admin = canaries["admin token"];
  sinks["every command line"] = commandLines();
  sinks["the hub's log"] = readLogs(join(hub.home, "logs"));
  sinks["the worker's log"] = readLogs(join(worker.home, "logs"));
  await eventually("all is sealed", async () => {
    sinks["the audit trail"] = (await call("GET", "/audit?limit=1000", { token: admin })).text;
    return sinks["the audit trail"].includes("TOKEN_OUTSIDE_WORKER");
  });
  sinks["error bodies"] = errorBodies.join("\n");
  sinks["alerts"] = JSON.stringify([bot.heard.map(({ body, headers }) => ({ body, headers })), mail.mails]);
  sinks["metrics"] = await (
    await fetch(`${hub.url}/metrics`, { headers: { Authorization: `Bearer ${admin}` } })
  ).text();
  sinks["the list of tokens"] = (await call("GET", "/tokens", { token: admin })).text;
  sinks["health"] = await (await fetch(`${hub.url}/healthz`)).text();
  sinks["the database"] = dump(join(hub.home, "writ.sqlite"));
  sinks["files of the audit trail"] = readFileSync(join(hub.home, "audit-heads.ndjson"), "utf8");
}

function commandLines(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .join("\n");
}

function readLogs(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}

/** What a file holds; nothing when its owner has removed it since it was listed. */
function textIn(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** Every row of every table, as text. */
function dump(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM "${name}"`).all());
  database.close();
  return rows
    .map((row) =>
      JSON.stringify(row, (_, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
      ),
    )
    .join("\n");
}

/** A document holds the environment of its job, because that is the work; the job's output may print it. */
const isByContract = (secret: string, sink: string): boolean =>
  secret === "value of a job's environment" && ["the database", "the environment of a job"].includes(sink);

describe("K-01, K-03, K-04, K-06: no secret", () => {
  test("was looked for in nothing", () => {
    for (const [sink, text] of Object.entries(sinks)) expect(text.length, sink).toBeGreaterThan(10);
    for (const [name, secret] of Object.entries({ ...canaries, ...found })) {
      expect(secret?.length, name).toBeGreaterThan(15);
    }
    expect(errorBodies.length).toBeGreaterThan(15);
  });

  test("is in a command line, a log, the database, the audit trail, an event, an error or an alert", () => {
    const hits: string[] = [];
    for (const [name, secret] of Object.entries({ ...canaries, ...found })) {
      for (const [sink, text] of Object.entries(sinks)) {
        if (text.includes(secret) && !isByContract(name, sink)) hits.push(`the ${name} is in ${sink}`);
      }
    }
    expect(hits).toEqual([]);
  });

  test("K-02: a job has none of the worker's or the hub's environment", () => {
    expect(sinks["the environment of a job"]).not.toMatch(/WRIT_|HUB_URL|NODE_/);
  });

  test("K-03: an error tells nothing of files, statements or stacks, and has a request id", () => {
    for (const body of errorBodies) {
      expect(body).not.toMatch(/\bat .*\.ts\b|node_modules|SQLITE|SELECT |\/tmp\/|\/work\//);
      expect(JSON.parse(body).error.request_id).toMatch(/\S{8,}/);
    }
  });
});

describe("K-06: files", () => {
  test("that hold secrets or the audit trail are the owner's alone", () => {
    const loose = readdirSync(hub.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name))
      // The hub lives on: a file that it has put aside meanwhile, like every replaced one, may not be readable by
      // others.
      .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
    expect(loose).toEqual([]);
  });

  test("no worker has the hub's signing key", () => {
    const files = readdirSync(worker.home, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    for (const entry of files) {
      expect(textIn(join(entry.parentPath, entry.name)), entry.name).not.toContain(canaries["signing key"]);
    }
  });

  test.each([
    ["the token", "admin.token"],
    ["the seal key", "keys/mac.key"],
    ["the keys' folder", "keys"],
    ["the home", "."],
  ])("a hub does not start when others can read %s", async (_, name) => {
    const { startTestHub } = await import("../support/hub.ts");
    const home = mkdtempSync(join(tmpdir(), "writ-modes-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const first = await startTestHub({}, { home });
    await first.stop({ keepHome: true });
    chmodSync(join(home, name), name.includes(".") && name !== "." ? 0o644 : 0o755);
    await expect(startTestHub({}, { home })).rejects.toThrow(/chmod/);
  });

  test("jobctl does not use a token out of a file that others can read", async () => {
    const { execFile } = await import("node:child_process");
    const home = mkdtempSync(join(tmpdir(), "writ-modes-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    writeFileSync(join(home, "jobctl.yaml"), `hub: ${hub.url}\ntoken: ${canaries["admin token"]}\n`, {
      mode: 0o644,
    });
    const outcome = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const args = ["list", "--home", home];
      execFile(join(import.meta.dirname, "../../bin/jobctl"), args, (error, _stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stderr }),
      );
    });
    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain("chmod 600");
    expect(outcome.stderr).not.toContain(canaries["admin token"]);
  });
});
