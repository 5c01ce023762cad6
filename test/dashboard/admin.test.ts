import { expect, test } from "vitest";
import { issuedCert } from "../support/certs.ts";
import { editRows } from "../support/database.ts";
import { editRecord } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { seriousFaults, violations, visit } from "./visit.ts";

const webhookSecret = "a secret that no page shows";
const webhookUrl = "https://alerts.example/<img/src=x/onerror=window.hacked=1>";
const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const turned = "invoice\u202egnp.exe";

browserSuite("the administrators' pages in a browser", () => {
  const hub = hubForAll({
    ...stillEnv,
    WRIT_WEBHOOK_URL: webhookUrl,
    WRIT_WEBHOOK_SECRET: webhookSecret,
  });
  const tokens = tokensOf(hub);
  const admin = adminForAll(hub);

  const open = (path: string) => admin.page.goto(hub.url + path);

  test("a type is paused, the pause is undone, and a type without jobs is paused by its name", async () => {
    const { page } = admin;
    const type = freshName("held");
    await submitJob(hub, { type });
    await open(`/queues?q=${type}`);
    const row = page.getByRole("row").filter({ hasText: type });
    await row.getByRole("button", { name: `Pause ${type}` }).click();
    await row.getByRole("cell", { name: "Paused", exact: true }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await row.getByRole("cell", { name: "Open", exact: true }).waitFor();
    await open("/queues");
    await page.getByRole("button", { name: "Pause a type…" }).click();
    await page.getByLabel("Type", { exact: true }).fill("no spaces, please");
    await page.keyboard.press("Enter");
    await page.getByText("must be 1 to 100 letters, digits, . _ or -").waitFor();
    const later = freshName("later");
    await page.getByLabel("Type", { exact: true }).fill(later);
    await page.keyboard.press("Enter");
    await page
      .getByRole("row")
      .filter({ hasText: later })
      .getByRole("button", { name: `Resume ${later}` })
      .click();
    await expect.poll(() => page.getByRole("row").filter({ hasText: later }).count()).toBe(0);
  });

  test("a quota with a wrong value is refused at its field, and a right one is set", async () => {
    const { page } = admin;
    await submitJob(hub, { token: tokens.alice });
    await open("/queues");
    await page.getByRole("button", { name: "Change the quota of acme" }).click();
    await page.getByLabel("Jobs that may wait").fill("many");
    await page.getByRole("button", { name: "Set the quota" }).click();
    const field = page.getByLabel("Jobs that may wait");
    await expect.poll(() => field.getAttribute("aria-invalid")).toBe("true");
    await page.getByText("must be a whole number from 0 to").waitFor();
    await field.fill("2000");
    await page.getByLabel("Submissions a second").fill("50");
    await page.getByRole("button", { name: "Set the quota" }).click();
    await page.getByRole("row").filter({ hasText: "of 2,000" }).waitFor();
    const quota = (await hub.must("GET", "/tenants/acme/quota", { token: hub.admin })).json();
    expect(quota).toEqual({ max_pending: 2000, submits_per_sec: 50 });
  });

  test("the overview of the hub is narrowed to one tenant, by the picker and by a link", async () => {
    const { page } = admin;
    await submitJob(hub, { token: tokens.alice, type: freshName("type") });
    await submitJob(hub);
    await open("/");
    await page.getByLabel("Tenant", { exact: true }).selectOption("acme");
    await expect.poll(() => new URL(page.url()).search).toBe("?tenant=acme");
    const depth = page.getByRole("link").filter({ hasText: "Queue depth" });
    const { now } = (await hub.must("GET", "/stats?tenant_id=acme", { token: hub.admin })).json<{
      now: { depth: number };
    }>();
    await expect.poll(() => depth.textContent()).toContain(`${now.depth}waiting`);
    expect(await depth.getAttribute("href")).toBe("/jobs?state=pending&tenant=acme");
    await page.reload();
    await expect.poll(() => page.getByLabel("Tenant", { exact: true }).inputValue()).toBe("acme");
    const { page: other, context } = await visit(admin.browser);
    await signIn(other, hub, tokens.acmeAdmin);
    await other.getByText("Queue depth").waitFor();
    expect(await other.getByLabel("Tenant", { exact: true }).count()).toBe(0);
    await context.close();
  });

  test("a blocked worker shows who blocked it and why, and no facts that it never reported", async () => {
    const { page } = admin;
    const stray = freshName("stray");
    const { token } = await issueToken(hub, { role: "worker", worker_id: stray });
    // It has never registered, and its token is used for another worker: that is evidence against it.
    const body = { worker_id: freshName("other") };
    expect((await hub.call("POST", "/jobs/claim", { token, body })).status).toBe(403);
    const attention = (id: string) => page.locator(".attention li").filter({ hasText: `${id} is blocked` });
    await open("/");
    await expect
      .poll(() => attention(stray).textContent())
      .toMatch(/is blocked by the hub \d+s ago: SECURITY_VIOLATION: /);
    await attention(stray).getByRole("link", { name: "Open" }).click();
    await page.getByText("no: the hub knows only its name").waitFor();
    const detail = page.locator(".worker-detail");
    expect(await detail.textContent()).not.toMatch(/Kinds|Types|Version/);
    expect(await page.getByRole("row", { name: stray, exact: true }).textContent()).toContain(
      "not registered",
    );
    await detail.getByRole("link", { name: "Audit record" }).click();
    const [, record] = /record=(\d+)$/.exec(page.url())!;
    const row = page
      .locator(".trail-row")
      .filter({ has: page.getByRole("button", { name: `Record ${record}`, exact: true }) });
    await expect.poll(() => row.textContent()).toContain("SECURITY_VIOLATION");
    const stopped = await registerWorker(hub);
    await hub.must("POST", `/workers/${stopped}/block`, { token: hub.admin });
    await open(`/fleet?open=${stopped}`);
    await expect.poll(() => detail.textContent()).toMatch(/by root \d+s ago/);
  });

  test("settings show the source of each value, and of a secret only that it is set", async () => {
    const { page } = admin;
    await open("/settings");
    const row = (setting: string) => page.getByRole("row").filter({ hasText: setting });
    await expect.poll(() => row("WRIT_LEASE_MS").textContent()).toContain("3600000 = 1h 00menvironment");
    expect(await row("WRIT_WEBHOOK_SECRET").textContent()).toContain("set, not shown");
    expect(await row("WRIT_TELEGRAM_BOT_TOKEN").textContent()).toContain("not set");
    expect(await page.content()).not.toContain(webhookSecret);
    await page.getByRole("button", { name: "Not the default" }).click();
    await expect.poll(() => row("WRIT_DIGEST_AT").count()).toBe(0);
    expect(page.url()).toContain("from=set");
  });

  test("O-33 the audit page has a view of the acts of people, in which a bulk act is one row that links to its jobs", async () => {
    const { page } = admin;
    const type = freshName("swept");
    const jobs = [await submitJob(hub, { type }), await submitJob(hub, { type })];
    await hub.must("POST", "/jobs/bulk", { token: hub.admin, body: { act: "cancel", filter: { type } } });
    await page.goto(`${hub.url}/audit`);
    await page.getByRole("group", { name: "View" }).getByRole("button", { name: "People" }).click();
    await page.waitForURL(/view=people/);
    await expect.poll(() => page.locator(".trail").getByText("JOB_CREATED").count()).toBe(0);
    await page.locator(".trail").getByText("Cancelled 2 of 2 jobs at once").first().click();
    await page.getByRole("link", { name: "The records of this act" }).click();
    for (const { id } of jobs)
      await page
        .locator(".trail")
        .getByText(`Job ${id.slice(-8)} failed: CANCELLED`)
        .waitFor();
  });

  test("words in the search field of the audit trail become filters in the address", async () => {
    const { page } = admin;
    const type = freshName("many");
    const jobs = Array.from({ length: 130 }, () => ({ type }));
    await hub.must("POST", "/jobs/batch", { token: tokens.bob, body: { jobs } });
    await eventually("the records are sealed", async () => {
      const path = "/audit?user_id=bob&event=JOB_CREATED&limit=1000";
      return (await hub.must("GET", path, { token: hub.admin })).json<unknown[]>().length === 130;
    });
    await open("/audit");
    await page.getByLabel("Search the audit trail").fill("user:bob event:job_created");
    await page.keyboard.press("Enter");
    expect(page.url()).toContain("/audit?user=bob&event=JOB_CREATED");
    const rows = page.getByRole("button", { name: /^Record \d+$/ });
    await expect.poll(() => rows.count()).toBe(100);
    await page.getByRole("button", { name: "Show older" }).click();
    await expect.poll(() => rows.count()).toBe(130);
    await page.getByLabel("Search the audit trail").fill("whatever");
    await page.keyboard.press("Enter");
    await page.getByText("“whatever” is not understood").waitFor();
    await page.getByRole("link", { name: "Remove the filter: done by" }).click();
    await expect.poll(() => page.url()).not.toContain("user=");
    await open("/audit?event=JOB_CREATED&user=no.one");
    await page.getByRole("link", { name: "Drop “done by”" }).click();
    await expect.poll(() => rows.count()).toBe(100);
  });

  test("hostile text in details and programs is shown as text", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    await hub.must("POST", `/jobs/${held.id}/fail`, {
      token: hub.admin,
      body: { ...held.fence, code: "INVALID_JOB", reason: `${hostile} ${turned}` },
      headers: { "User-Agent": hostile },
    });
    await open(`/audit?job=${held.id}&event=JOB_FAILED`);
    const row = page.getByRole("button", { name: /^Record \d+$/ });
    await row.waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".record").textContent()).toContain(hostile);
    // Once as the reason, and once as the error.
    const controls = await page.locator(".record .control-text").allTextContents();
    expect(controls).toEqual(["U+202E", "U+202E"]);
    await open("/settings?q=webhook_url");
    await page.getByText(webhookUrl).waitFor();
    expect(
      await page.evaluate("[window.hacked, document.querySelectorAll('main img, main script').length]"),
    ).toEqual([undefined, 0]);
  });

  test("the chain is verified, and an edited record is named and shown", async () => {
    const { page } = admin;
    await open("/audit");
    await page.getByRole("button", { name: "Verify now" }).click();
    await page.getByText(/All [\d,]+ records fit together/).waitFor();
    const putBack = await editRecord(hub.home, 7);
    await page.getByRole("button", { name: "Verify now" }).click();
    await page.getByText("damaged").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByRole("link", { name: "Record 7", exact: true }).first().click();
    expect(page.url()).toContain("record=7");
    await page.locator(".record").getByText("Before it").waitFor();
    const record = page.getByRole("button", { name: "Record 7", exact: true });
    expect(await record.getAttribute("aria-expanded")).toBe("true");
    putBack();
  });

  test("an administrator of a tenant sees that tenant and changes nothing of the hub", async () => {
    const { page, context } = await visit(admin.browser);
    await submitJob(hub, { token: tokens.eve, type: freshName("foreign") });
    await signIn(page, hub, tokens.acmeAdmin);
    await page.goto(`${hub.url}/queues`);
    await page.getByRole("row").filter({ hasText: "acme" }).first().waitFor();
    expect(await page.getByText("globex").count()).toBe(0);
    expect(await page.getByRole("button", { name: /Pause|Change|Set a quota/ }).count()).toBe(0);
    await page.goto(`${hub.url}/audit?event=JOB_CREATED`);
    await page
      .getByRole("button", { name: /^Record \d+$/ })
      .first()
      .waitFor();
    expect(await page.getByText("foreign").count()).toBe(0);
    expect(await page.getByRole("button", { name: /Verify now|Rotate|Lock down/ }).count()).toBe(0);
    await page.goto(`${hub.url}/settings`);
    await page.getByText("There is no such page, or you may not open it").waitFor();
    await context.close();
  });

  test("access is given, shown once, and taken away", async () => {
    const { page } = admin;
    const user = freshName("guest");
    await open("/access");
    await page.getByRole("button", { name: "Give access" }).click();
    await page.getByLabel("Role").selectOption("viewer");
    await page.getByLabel("Name", { exact: true }).fill("two words");
    await page.keyboard.press("Enter");
    await page.getByText("must be 1 to 50 letters, digits").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(user);
    await page.getByRole("button", { name: "Make a token" }).click();
    const token = await page.locator("dialog .well .grow").textContent();
    expect((await hub.call("GET", "/session", { token: token! })).status).toBe(200);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: `Revoke the token of ${user}` }).click();
    await page.getByLabel("Type the name to continue").fill(user);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText(`The token of ${user} is revoked`).waitFor();
    expect((await hub.call("GET", "/session", { token: token!, from: "127.9.0.1" })).status).toBe(401);
  });

  test("certificates are listed as people, and one is revoked", async () => {
    const { page } = admin;
    const user = freshName("dora");
    const serial = await issuedCert(hub, { user });
    await open("/access");
    await page.getByText("Certificate authority").waitFor();
    const row = page.getByRole("listitem").filter({ hasText: user });
    await expect.poll(() => row.textContent()).toContain("user · acmecertificate, ");
    await row.getByRole("button", { name: `Revoke the certificate of ${user}` }).click();
    await page.getByLabel("Type the name to continue").fill(user);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText(`The certificate of ${user} is revoked`).waitFor();
    await expect.poll(() => row.count()).toBe(0);
    const certs = (await hub.must("GET", "/certs", { token: hub.admin })).json<Cert[]>();
    expect(certs.find((cert) => cert.serial === serial)?.revoked_at).toBeGreaterThan(0);
  });

  test("the signing key is rotated, and a replaced one is revoked after the hub's name was typed", async () => {
    const { page } = admin;
    await open("/access");
    const keys = page.locator(".keys");
    await keys.getByText("due in 90 d").waitFor();
    const [old] = (await hub.must("GET", "/keys", { token: hub.admin })).json<Keys>().keys;
    await keys.getByRole("button", { name: "Rotate…" }).click();
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    await page.getByText("A new key signs").waitFor();
    await keys.getByText("also signs, for 14 more days").waitFor();
    await keys.getByRole("button", { name: `Revoke key ${old!.key_id}` }).click();
    const revoke = page.getByRole("button", { name: "Revoke", exact: true });
    expect(await revoke.isDisabled()).toBe(true);
    await page.getByLabel("Type the hub’s name to continue").fill("127.0.0.1");
    await revoke.click();
    await keys.getByText(/^revoked \d/).waitFor();
    const { keys: after } = (await hub.must("GET", "/keys", { token: hub.admin })).json<Keys>();
    expect(after.map(({ status }) => status)).toEqual(["revoked", "active"]);
  });

  test("the hub is locked with a reason, every page says so, and the lockdown is lifted", async () => {
    const { page } = admin;
    const workerId = await registerWorker(hub);
    await open("/access");
    await page.getByRole("button", { name: "Lock down…" }).click();
    const lock = page.getByRole("dialog").getByRole("button", { name: "Lock down" });
    await page.getByLabel("Type the hub’s name to continue").fill("127.0.0.1");
    await lock.click();
    await expect.poll(() => page.getByLabel("Reason").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Reason").fill(`drill ${hostile}`);
    await lock.click();
    await page.getByText("Lockdown since").waitFor();
    expect(await page.locator(".lock-band").textContent()).toContain(
      "those that are allowed one attempt and had begun have failed",
    );
    // Workers are stopped, not silent.
    await open("/fleet");
    await page.getByRole("row").filter({ hasText: workerId }).getByText("Locked").waitFor();
    await open("/");
    await page.getByText("Needs attention").waitFor();
    expect(await page.getByText(`${workerId} is silent`).count()).toBe(0);
    for (const path of ["/jobs", "/settings"]) {
      await open(path);
      await expect.poll(() => page.locator(".lock-band").textContent()).toContain(`drill ${hostile}`);
    }
    await page.getByRole("link", { name: "Show events" }).click();
    await page.locator(".severity.CRITICAL").waitFor();
    await page.getByRole("button", { name: "Lift…" }).click();
    const lift = page.getByRole("button", { name: "Lift it" });
    expect(await lift.isDisabled()).toBe(true);
    await page.getByLabel("Type the hub’s name to continue").fill("127.0.0.1");
    await lift.click();
    await expect.poll(() => page.getByText("Lockdown since").count()).toBe(0);
    expect((await hub.must("GET", "/lockdown", { token: hub.admin })).json()).toMatchObject({
      locked: false,
    });
  });

  test("the users of a locked tenant see its name, and its administrator lifts the lockdown", async () => {
    const lock =
      "INSERT INTO tenant_lockdowns (tenant_id, reason, since) VALUES ('acme', 'a forged token', 1)";
    expect(editRows(hub.home, lock)).toBe(1);
    const globex = await visit(admin.browser);
    await signIn(globex.page, hub, tokens.globexAdmin);
    await globex.page.goto(`${hub.url}/access`);
    await globex.page.getByText("not active").waitFor();
    expect(await globex.page.getByText("acme").count()).toBe(0);
    await globex.context.close();
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, tokens.acmeAdmin);
    await page.getByText("Tenant acme is locked").waitFor();
    await page.goto(`${hub.url}/access`);
    await page.getByRole("button", { name: "Lift the lockdown of acme" }).click();
    await page.getByRole("button", { name: "Lift it" }).click();
    await expect.poll(() => page.getByText("Tenant acme is locked").count()).toBe(0);
    await context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});

type Cert = { serial: string; revoked_at: number | null };
type Keys = { keys: { key_id: string; status: string }[] };
