import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import { hasBrowser, openBrowser, signIn } from "./browser.ts";
import { seriousFaults, type Visitor, violations, visit } from "./visit.ts";

const suite = hasBrowser ? describe : describe.skip;
const name = hasBrowser
  ? "the administrators' pages in a browser"
  : "the administrators' pages in a browser (not capable: no chromium)";
const webhookSecret = "a secret that no page shows";

suite(name, () => {
  const hub = hubForAll({
    ...stillEnv,
    WRIT_WEBHOOK_URL: "https://alerts.example/in",
    WRIT_WEBHOOK_SECRET: webhookSecret,
  });
  const tokens = tokensOf(hub);
  let browser: Browser;
  let admin: Visitor;

  beforeAll(async () => {
    browser = await openBrowser();
    admin = await visit(browser);
    await signIn(admin.page, hub, hub.admin);
  });
  afterAll(async () => {
    await browser?.close();
  });

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

  test("settings say where each value came from, and a secret only that it is set", async () => {
    const { page } = admin;
    await open("/settings");
    const row = (setting: string) => page.getByRole("row").filter({ hasText: setting });
    await expect.poll(() => row("WRIT_LEASE_MS").textContent()).toContain("3600000environment");
    expect(await row("WRIT_WEBHOOK_SECRET").textContent()).toContain("set, not shown");
    expect(await row("WRIT_TELEGRAM_BOT_TOKEN").textContent()).toContain("not set");
    expect(await page.content()).not.toContain(webhookSecret);
    await page.getByRole("button", { name: "Not the default" }).click();
    await expect.poll(() => row("WRIT_DIGEST_AT").count()).toBe(0);
    expect(page.url()).toContain("from=set");
  });

  test("axe finds nothing serious on any of these pages, in both themes", async () => {
    const { page } = admin;
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const path of ["/queues", "/settings"]) {
        await open(path);
        await page.locator(".panel:not([aria-busy])").first().waitFor();
        const found = await seriousFaults(page);
        expect(found.map((fault) => `${path} ${colorScheme} ${fault}`)).toEqual([]);
      }
    }
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
