import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { hubForAll } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { visit } from "./visit.ts";

browserSuite("a page after its session has ended", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  test("the page opens no event stream, because each try would be a failed login", async () => {
    const { page, context } = await visit(admin.browser);
    let streams = 0;
    const isStream = (request: { url(): string }) => request.url().includes("/jobs/events");
    page.on("request", (request) => {
      if (isStream(request)) streams += 1;
    });
    await signIn(page, hub, hub.admin);
    // The page that signed in may open a stream at any moment, so it is closed before the test waits for another
    // stream.
    await page.goto("about:blank");
    await page.clock.install();
    await Promise.all([page.waitForRequest(isStream), page.goto(`${hub.url}/jobs`)]);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    const isOver = page.waitForEvent("requestfailed", isStream);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await isOver;
    const before = streams;
    await page.clock.runFor(60_000);
    expect(streams).toBe(before);
    await page.getByLabel("Token").fill(hub.admin);
    await Promise.all([page.waitForRequest(isStream), page.getByRole("button", { name: "Sign in" }).click()]);
    await context.close();
  });
});
