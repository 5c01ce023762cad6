import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { hasBrowser, openBrowser, signIn } from "./browser.ts";
import { seriousFaults, type Visitor, visit } from "./visit.ts";

const suite = hasBrowser ? describe : describe.skip;
const why = hasBrowser ? "" : " (not capable: no chromium)";

suite(`every page for everybody${why}`, () => {
  const hub = hubForAll(stillEnv);
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

  test("axe finds nothing serious on any page, in both themes", async () => {
    const { page } = admin;
    const { id } = await runningJob(hub);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate("localStorage.removeItem('writ-theme')");
      const pages = [
        "/",
        "/jobs",
        `/jobs/${id}`,
        "/submit",
        "/fleet",
        "/queues",
        "/audit",
        "/access",
        "/settings",
      ];
      for (const path of pages) {
        await page.goto(hub.url + path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.locator(".panel").first().waitFor();
        const found = await seriousFaults(page);
        expect(found.map((fault) => `${path} ${colorScheme} ${fault}`)).toEqual([]);
      }
    }
  });
});
