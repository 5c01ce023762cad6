import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runningJob, submitJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

browserSuite("a page that stays open", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  test("a question closes with the page that asked it", async () => {
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

  test("a page whose script is gone, as after an upgrade, says so and leaves the other pages working", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    await page.route("**/assets/fleet-page*.js", (route) => route.abort());
    await page.getByRole("navigation", { name: "Main", exact: true }).getByText("Fleet").click();
    await page.getByText("This page cannot be shown").waitFor();
    await page.getByRole("navigation", { name: "Main", exact: true }).getByText("Jobs").click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await page.unroute("**/assets/fleet-page*.js");
    await page.goBack();
    await page.getByRole("button", { name: "Load it again" }).click();
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    await context.close();
  });

  test("an address that is not well-formed is a job that does not exist", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/jobs/%E0%A4%A`);
    await page.getByText("There is no such job").waitFor();
  });

  test("O-20 an address after a hash, such as /#/jobs, opens that page", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    await page.goto("about:blank");
    await page.goto(`${hub.url}/#/jobs?state=failed`);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toBe(`${hub.url}/jobs?state=failed`);
    await page.goto(`${hub.url}/jobs?state=failed#/submit`);
    await page.getByRole("heading", { name: "Submit a job" }).waitFor();
    await page.goto("about:blank");
    await page.goto(`${hub.url}/#//example.com/jobs`);
    await page.getByRole("navigation", { name: "Main", exact: true }).waitFor();
    expect(new URL(page.url()).host).toBe(new URL(hub.url).host);
    await context.close();
  });

  test("O-45 the page of a job with thousands of events shows the last of them", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    const report = (progress: number) =>
      hub.must("POST", `/jobs/${held.id}/progress`, { token: hub.admin, body: { ...held.fence, progress } });
    for (let at = 0; at < 1_010; at += 101)
      await Promise.all(Array.from({ length: 101 }, (_, index) => report((at + index) % 100)));
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: 1 },
    });
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.getByRole("button", { name: "Events 1014" }).click();
    await page.locator(".events").getByText("JOB_COMPLETED").waitFor();
    await page.locator(".events").getByText("14 earlier events").waitFor();
  });

  test("O-46 signing out while the hub is away reports the failure and can be repeated", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    const isOfSession = (url: URL) => url.pathname === "/api/v1/session";
    await page.route(isOfSession, (route) =>
      route.request().method() === "DELETE" ? route.abort() : route.continue(),
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are still signed in").waitFor();
    await page.unroute(isOfSession);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Token").waitFor();
    await context.close();
  });

  test("a paused list stays paused when another filter is chosen", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    const before = await submitJob(hub);
    await page.goto(`${hub.url}/jobs`);
    await page.locator(`[data-id="${before.id}"]`).waitFor();
    await page.keyboard.press("p");
    const waiting = page.getByRole("group", { name: "States" }).getByRole("button", { name: "Pending" });
    await waiting.click();
    await page.waitForURL(/state=pending/);
    await page.locator(`[data-id="${before.id}"]`).waitFor();
    const [counted, later] = [await waiting.textContent(), await submitJob(hub)];
    // The counts, which are not paused, show that the page has received the event.
    await expect.poll(() => waiting.textContent()).not.toBe(counted);
    await page.getByRole("button", { name: "Paused" }).waitFor();
    const row = page.locator(`[data-id="${later.id}"]`);
    expect([await row.count(), await page.getByText("newer job").count()]).toEqual([0, 0]);
    await page.keyboard.press("p");
    await row.waitFor();
    await context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
