import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { freshName, runningJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations } from "./visit.ts";

browserSuite("what somebody on call reads", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  const base64 = (text: string) => Buffer.from(text).toString("base64");

  /** A job that wrote to both streams and ended with an error. */
  async function brokenJob(more: Record<string, unknown> = {}) {
    const held = await runningJob(hub, { max_attempts: 1, ...more });
    const small_output = {
      stdout: base64("step 1\nstep 2\n"),
      stderr: base64("reading\nno such table: users\n"),
    };
    const body = {
      ...held.fence,
      reason: "exit code 3",
      code: "WORKER_EXIT_ERROR",
      exit_code: 3,
      small_output,
    };
    await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
    return held;
  }

  /** Holds such calls until what it returns is called. */
  async function hold(page: Page, path: RegExp): Promise<() => void> {
    const gate = Promise.withResolvers<void>();
    await page.route(path, async (route) => {
      await gate.promise;
      await route.continue().catch(() => {});
    });
    return gate.resolve;
  }

  test("O-27 a failed job opens on stderr, and its last line stands in the sentence, the list and the overview", async () => {
    const { page } = admin;
    const type = freshName("broken");
    const { id } = await brokenJob({ type });
    await page.goto(`${hub.url}/jobs?type=${type}`);
    await page.locator(`[data-id="${id}"] .cell-preview`).getByText("no such table: users").waitFor();
    await page.goto(`${hub.url}/jobs/${id}`);
    await page.locator(".say q").getByText("no such table: users").waitFor();
    const stderr = page.getByRole("group", { name: "Stream" }).getByRole("button", { name: "stderr" });
    expect(await stderr.getAttribute("aria-pressed")).toBe("true");
    await page.locator(".terminal-row").getByText("no such table: users").waitFor();
  });

  test("O-27 what is still loading is not asserted: it says that it loads", async () => {
    const { page } = admin;
    const { id } = await brokenJob();
    await page.goto("about:blank");
    const releases = [
      await hold(page, /\/output\/stderr/),
      await hold(page, /\/jobs\/[^/]+\/(receipt|bundle)/),
    ];
    await page.goto(`${hub.url}/jobs/${id}`);
    const proof = page.getByRole("region", { name: "Proof" });
    await proof.getByText("being checked …").first().waitFor();
    const output = page.getByRole("region", { name: "Output" });
    await output.locator("footer").getByText("loading …").waitFor();
    expect(await proof.getByText("there is no receipt").count()).toBe(0);
    expect(await output.getByText("all shown").count()).toBe(0);
    for (const release of releases) release();
    await proof.getByText("there is no receipt of its end").waitFor();
    await output.locator("footer").getByText("29 bytes, all shown").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("O-27 nor is an overview empty before it has been read", async () => {
    const { page } = admin;
    await page.goto("about:blank");
    const releases = [await hold(page, /\/api\/v1\/workers$/), await hold(page, /\/api\/v1\/jobs/)];
    await page.goto(`${hub.url}/`);
    await page.locator(".fleet-list").getByText("Loading …").waitFor();
    for (const release of releases) release();
    await expect.poll(() => page.getByText("Loading …").count()).toBe(0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
