import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startBotServer, type TestServer } from "../support/bot-server.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { completedJob, failedJob, runningJob } from "../support/jobs.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { noonClock } from "../support/noon-clock.ts";
import { issueToken } from "../support/tokens.ts";

const botToken = "123456:bot-token-of-the-test";
const webhookSecret = "the secret of the webhook";

let bot: TestServer;
let hook: TestServer;
let mail: MailServer;
let hub: TestHub;

beforeEach(async () => {
  [bot, hook, mail] = await Promise.all([
    startBotServer(),
    startBotServer(),
    startMailServer({ user: "writ", password: "mail-password" }),
  ]);
});
afterEach(async () => {
  await hub?.stop();
  await Promise.all([bot.stop(), hook.stop(), mail.stop()]);
});

const telegram = () => ({
  WRIT_TELEGRAM_BOT_TOKEN: botToken,
  WRIT_TELEGRAM_CHAT_ID: "-100200",
  WRIT_TELEGRAM_API_URL: bot.url,
});
const smtp = () => ({
  WRIT_SMTP_URL: mail.url,
  WRIT_ALERT_FROM: "writ@example.org",
  WRIT_ALERT_TO: "ops@example.org, lead@example.org",
});
const webhook = () => ({ WRIT_WEBHOOK_URL: `${hook.url}/hook`, WRIT_WEBHOOK_SECRET: webhookSecret });

const securityViolation = (id = hub) => failedJob(id, { code: "PATH_TRAVERSAL_ATTEMPT" });

describe("settings", () => {
  test.each([
    ["a bot without a chat", { WRIT_TELEGRAM_BOT_TOKEN: botToken }, "WRIT_TELEGRAM_CHAT_ID"],
    ["a mail server without addresses", { WRIT_SMTP_URL: "smtp://u:pass-canary@h" }, "WRIT_ALERT_FROM"],
    ["a webhook without a secret", { WRIT_WEBHOOK_URL: "http://127.0.0.1:1" }, "WRIT_WEBHOOK_SECRET"],
    ["a time that there is not", { WRIT_DIGEST_AT: "24:00" }, "WRIT_DIGEST_AT"],
  ])("refuse %s", async (_, env, named) => {
    const failed = await startTestHub(env).then(
      () => null,
      (error: Error) => error,
    );
    expect(failed).toMatchObject({ code: "CONFIG_INVALID" });
    expect(failed!.message).toContain(named);
    expect(failed!.message).not.toMatch(/pass-canary|bot-token/);
  });

  test("a secret in a file that others can read stops the start", async () => {
    const home = mkdtempSync(join(tmpdir(), "writ-alerts-"));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    const { chmodSync, writeFileSync } = await import("node:fs");
    writeFileSync(
      join(home, "writ.yaml"),
      "webhook_url: http://127.0.0.1:1\nwebhook_secret: 0123456789abcdef\n",
    );
    chmodSync(join(home, "writ.yaml"), 0o644);
    await expect(startTestHub({}, { home })).rejects.toThrow(/chmod 600/);
  });
});

describe("a HIGH event", () => {
  test("goes out at once by every channel, once, and the webhook's signature can be checked", async () => {
    hub = await startTestHub({ ...stillEnv, ...telegram(), ...smtp(), ...webhook() });
    const { id } = await securityViolation();
    await eventually("all have heard", () => bot.heard[0] && hook.heard[0] && mail.mails[0]);

    expect(bot.heard[0]!.path).toBe(`/bot${botToken}/sendMessage`);
    const message = JSON.parse(bot.heard[0]!.body);
    expect(message.chat_id).toBe("-100200");
    expect(message.text).toContain("[HIGH] PATH_TRAVERSAL_ATTEMPT");
    expect(message.text).toContain(id);

    expect(mail.mails[0]).toMatchObject({
      from: "writ@example.org",
      to: ["ops@example.org", "lead@example.org"],
    });
    expect(mail.mails[0]!.text).toContain("Subject: Writ: [HIGH] PATH_TRAVERSAL_ATTEMPT");

    const { headers, body, path } = hook.heard[0]!;
    const expected = createHmac("sha256", webhookSecret).update(`${headers["writ-timestamp"]}.${body}`);
    expect(path).toBe("/hook");
    expect(headers["writ-signature"]).toBe(`sha256=${expected.digest("hex")}`);
    expect(JSON.parse(body)).toMatchObject({ level: "HIGH", event: "PATH_TRAVERSAL_ATTEMPT", job_id: id });
    expect(headers["writ-delivery"]).toBe(String(JSON.parse(body).id));
  });

  test("O-17 is told for each job, with user and address, ten times a minute for a tenant; equal ones once", async () => {
    hub = await startTestHub({ ...stillEnv, ...telegram() });
    const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "mallory" });
    const body = { type: "t", repo_root: "/../etc" };
    for (let count = 0; count < 3; count++) {
      expect((await hub.call("POST", "/jobs", { token, body })).status).toBe(400);
    }
    const jobs: string[] = [];
    for (let count = 0; count < 12; count++) {
      jobs.push((await failedJob(hub, { token, code: "PATH_TRAVERSAL_ATTEMPT" })).id);
    }
    const other = await failedJob(hub, { code: "SECURITY_VIOLATION" });
    const texts = () => bot.heard.map(({ body }) => String(JSON.parse(body).text));
    await eventually("the last one is told", () => texts().some((text) => text.includes(other.id)));
    const traversals = texts().filter((text) => text.includes("PATH_TRAVERSAL_ATTEMPT"));
    expect(traversals).toHaveLength(10);
    expect(traversals[0]).toMatch(/tenant: acme\nuser: mallory\naddress: 127\.0\.0\.1\n/);
    for (const [index, text] of traversals.slice(1).entries()) {
      expect(text).toMatch(/user: mallory\nreported by: \S+ from 127\.0\.0\.1\n/);
      expect(text).toContain(`job: ${jobs[index]}`);
    }
  });

  test("O-17 that comes after ten others is in the summary of the minute", async () => {
    const clock = noonClock();
    let passedMs = 0;
    const late = { ...clock, nowMs: () => clock.nowMs() + passedMs };
    hub = await startTestHub({ ...stillEnv, ...webhook() }, { clock: late });
    for (let count = 0; count < 13; count++) await securityViolation();
    await eventually("ten are told", () => hook.heard.length === 10);
    passedMs = 60_000;
    const summary = await eventually("the summary is told", () => hook.heard[10]);
    expect(JSON.parse(summary.body)).toMatchObject({
      ...{ level: "HIGH", event: "SUMMARY", count: 3, tenant_id: "default" },
      events: { PATH_TRAVERSAL_ATTEMPT: 3 },
      subject: expect.stringContaining("3 more security events"),
    });
    expect(hook.heard).toHaveLength(11);
  });
});

test("a job that ends as INVALID_JOB is told to the administrators, one that merely fails is not", async () => {
  hub = await startTestHub({ ...stillEnv, ...telegram() });
  await failedJob(hub, { code: "EXECUTION_ERROR", max_attempts: 1 });
  const { id } = await failedJob(hub, { code: "INVALID_JOB" });
  await eventually("it is told", () => bot.heard.length > 0);
  expect(bot.heard).toHaveLength(1);
  expect(JSON.parse(bot.heard[0]!.body).text).toContain(id);
});

describe("F-49: a channel that is away", () => {
  test("gets everything in order when it is back, and no job waits for it", async () => {
    hub = await startTestHub({ ...stillEnv, ...telegram(), ...webhook() });
    bot.answerNext({ status: 500 }, { status: 429, body: { ok: false, parameters: { retry_after: 1 } } });
    await securityViolation();
    await failedJob(hub, { code: "INVALID_JOB" });
    await completedJob(hub);
    await eventually("the other channel has both", () => hook.heard.length === 2);
    await eventually("it has both", () => bot.heard.length === 2);
    const told = bot.heard.map(({ body }) => JSON.parse(body).text.split("\n")[0]);
    expect(told).toEqual(["[HIGH] PATH_TRAVERSAL_ATTEMPT", "[LOW] JOB_FAILED"]);
  });

  test("gets what waited over a restart, and nothing twice", async () => {
    hub = await startTestHub({ ...stillEnv, ...smtp() });
    mail.refuseNext(1);
    await securityViolation();
    await eventually("it was tried", async () => {
      const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
      return /writ_alerts_total\{channel="smtp",outcome="failed"\} 1/.test(text);
    });
    await hub.stop({ keepHome: true });
    hub = await startTestHub({ ...stillEnv, ...smtp() }, { home: hub.home });
    await eventually("it arrives", () => mail.mails.length > 0);
    await failedJob(hub, { code: "INVALID_JOB" });
    await eventually("the next one too", () => mail.mails.length > 1);
    expect(mail.mails).toHaveLength(2);
    const log = readFileSync(join(hub.home, "logs", "hub.log"), "utf8");
    expect(log).toContain("an alert could not be delivered");
    expect(log).not.toContain("mail-password");
  });
});

test("the daily digest tells by mail what was refused since the last one", async () => {
  const home = mkdtempSync(join(tmpdir(), "writ-digest-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  hub = await startTestHub({ ...stillEnv, ...smtp() }, { home, clock: noonClock() });
  const held = await runningJob(hub);
  const body = { role: "user", tenant_id: "acme", user_id: "mallory" };
  const { token } = (await hub.must("POST", "/tokens", { token: hub.admin, body })).json<{ token: string }>();
  for (let count = 0; count < 3; count++) {
    expect((await hub.call("GET", `/workers/${held.fence.worker_id}`, { token })).status).toBe(403);
  }
  await hub.stop({ keepHome: true });
  expect(mail.mails).toEqual([]);

  hub = await startTestHub({ ...stillEnv, ...smtp() }, { home, clock: noonClock(1) });
  await eventually("the digest arrives", () => mail.mails.length > 0);
  expect(mail.mails[0]!.text).toMatch(/Subject: Writ: daily digest: 3 security events/);
  expect(mail.mails[0]!.text).toMatch(/3 {2}PERMISSION_DENIED {2}tenant acme {2}user mallory/);
});

test("the hub says by which ways it would be heard", async () => {
  hub = await startTestHub({ ...stillEnv, ...webhook() });
  const state = (await hub.must("GET", "/lockdown", { token: hub.admin })).json();
  expect(state).toMatchObject({ locked: false, alert_channels: ["webhook"] });
});
