import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { seriousFaults } from "./visit.ts";

browserSuite("accessibility of every page", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

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
