import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import {
  completedJob,
  failedJob,
  freshName,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { hubForAll } from "../support/use-hub.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations } from "./visit.ts";

browserSuite("finding things", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  test("O-29 the filter field shows the applied filter, and a part that is deleted from it is dropped", async () => {
    const { page } = admin;
    const { id, type } = await failedJob(hub);
    await page.goto(`${hub.url}/jobs?state=failed&type=${type}&since=1h`);
    const field = page.getByLabel("Filter jobs");
    await page.locator(`[data-id="${id}"]`).waitFor();
    expect(await field.inputValue()).toBe(`state:failed type:${type} since:1h`);
    await field.fill(`type:${type} state:pending some text`);
    await field.press("Enter");
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({ type, state: "pending", q: "some text" });
    expect(await field.inputValue()).toBe(`state:pending type:${type} some text`);
    await page.getByText("No job matches").waitFor();
    await field.fill("");
    await field.press("Enter");
    await page.waitForURL(`${hub.url}/jobs`);
    await page.locator(`[data-id="${id}"]`).waitFor();
  });

  test("O-29 counts and histogram are about the jobs that the filter finds", async () => {
    const { page } = admin;
    const type = freshName("counted");
    const workerId = await registerWorker(hub);
    for (let count = 0; count < 3; count++) await completedJob(hub, { workerId, type });
    await failedJob(hub, { workerId, type });
    await submitJob(hub, { type });
    await completedJob(hub);
    await page.goto(`${hub.url}/jobs?type=${type}`);
    const states = page.getByRole("group", { name: "States" });
    await expect
      .poll(() => states.getByRole("button", { name: "Completed" }).textContent())
      .toBe("Completed3");
    expect(await states.getByRole("button", { name: "Failed" }).textContent()).toBe("Failed1");
    expect(await states.getByRole("button", { name: "Pending" }).textContent()).toBe("Pending1");
    await page
      .getByRole("img", { name: "Jobs that ended in the last hour: 3 completed, 1 failed" })
      .waitFor({ state: "attached" });
    await states.getByRole("button", { name: "Failed" }).click();
    await page
      .getByRole("img", { name: "Jobs that ended in the last hour: 0 completed, 1 failed" })
      .waitFor({ state: "attached" });
    // Statistics do not know workers: better no line than one about other jobs.
    await page.goto(`${hub.url}/jobs?worker=${workerId}`);
    await expect
      .poll(() => states.getByRole("button", { name: "Completed" }).textContent())
      .toBe("Completed3");
    expect(await page.locator(".histogram").count()).toBe(0);
  });

  test("O-29 a search in a large output counts all matches and steps through them", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    const padding = `${"x".repeat(99)}\n`.repeat(30_000);
    const text = `Needle one\n${padding}needle two\n${padding}NEEDLE three\n`;
    const half = Buffer.from(text.slice(0, 3_000_000));
    await appendOutput(hub, held, { bytes: half });
    await appendOutput(hub, held, { offset: half.length, bytes: Buffer.from(text.slice(3_000_000)) });
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.locator(".terminal").getByText("NEEDLE three").waitFor();
    await page.getByLabel("Search the output").fill("needle");
    await page.getByText("3 of 3", { exact: true }).waitFor();
    await page.getByLabel("Search the output").press("Shift+Enter");
    await page.getByText("2 of 3", { exact: true }).waitFor();
    await page.locator(".terminal-row:has(mark.at)").getByText("needle two").waitFor();
    await page.getByRole("button", { name: "Earlier match" }).click();
    await page.locator(".terminal-row:has(mark.at)").getByText("Needle one").waitFor();
    await page.getByRole("button", { name: "Earlier match" }).click();
    await page.locator(".terminal-row:has(mark.at)").getByText("NEEDLE three").waitFor();
  });

  test("O-29 Back shows the rows where they were", async () => {
    const { page } = admin;
    const type = freshName("many");
    const wish = { run: { kind: "exec", argv: ["true"] }, type };
    const body = { jobs: Array.from({ length: 250 }, () => wish) };
    await hub.must("POST", "/jobs/batch", { token: hub.admin, body });
    await page.goto(`${hub.url}/jobs?type=${type}`);
    await page.locator(".job-row").nth(10).waitFor();
    const inView = () =>
      page.evaluate(
        `[...document.querySelectorAll(".row-window .job-row")]
          .find((row) => row.getBoundingClientRect().top > 200)?.dataset.id ?? ""`,
      ) as Promise<string>;
    // Past the first page of a hundred rows.
    await expect
      .poll(async () => {
        await page.evaluate("scrollTo(0, document.body.scrollHeight)");
        return page.locator(".row-window").evaluate((rows) => rows.clientHeight);
      })
      .toBeGreaterThan(7_000);
    // A page that is not live yet has a bar above its rows.
    await page.locator(".side").getByText("Live").waitFor();
    await page.evaluate("scrollTo(0, 6000)");
    await expect.poll(() => page.evaluate("scrollY")).toBe(6_000);
    await expect.poll(inView).not.toBe("");
    const before = await inView();
    await page.locator(`[data-id="${before}"] a`).first().click();
    await page.getByRole("navigation", { name: "Where this is" }).waitFor();
    expect(await page.evaluate("scrollY")).toBe(0);
    await page.goBack();
    await expect.poll(() => page.evaluate("scrollY")).toBe(6_000);
    await expect.poll(inView).toBe(before);
  });

  test("O-29 the palette finds workers by name and tag", async () => {
    const { page } = admin;
    const worker = await registerWorker(hub, { tags: ["ocean-floor"] });
    await page.goto(`${hub.url}/`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    for (const words of [worker.slice(3), "OCEAN"]) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search or act" }).fill(words);
      await page.getByRole("option", { name: worker }).click();
      await page.getByRole("row", { name: worker, exact: true }).waitFor();
      expect(await page.getByText("Since it was registered").count()).toBe(1);
    }
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
