import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations } from "./visit.ts";

browserSuite("a page that stays open", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  test("a question goes with the page that it was asked on", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    await page.goto(`${hub.url}/jobs`);
    await page.locator(`[data-id="${held.id}"] a`).click();
    await page.getByText("Runs on").first().waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Cancel the job" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Jobs" }).waitFor({ state: "attached" });
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
