import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { freshName, quarantinedJob, registerWorker, runningJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

/** An element of the page, as far as these tests measure it. */
type Line = {
  scrollWidth: number;
  closest(selector: string): Line;
  getBoundingClientRect(): { left: number; right: number };
};

browserSuite("what a person on call reads", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  const base64 = (text: string) => Buffer.from(text).toString("base64");

  /** A job that wrote to both streams and ended with an error. */
  async function brokenJob({ code = "WORKER_EXIT_ERROR", ...more }: Record<string, unknown> = {}) {
    const held = await runningJob(hub, { max_attempts: 1, ...more });
    const small_output = {
      stdout: base64("step 1\nstep 2\n"),
      stderr: base64("reading\nno such table: users\n"),
    };
    const body = {
      ...held.fence,
      reason: "exit code 3",
      code,
      exit_code: 3,
      small_output,
    };
    await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
    return held;
  }

  /** Holds matching calls until the returned function is called. */
  async function hold(page: Page, path: RegExp): Promise<() => void> {
    const gate = Promise.withResolvers<void>();
    await page.route(path, async (route) => {
      await gate.promise;
      await route.continue().catch(() => {});
    });
    return gate.resolve;
  }

  test("O-27 a failed job opens on stderr, and the sentence, the list and the overview have its last line", async () => {
    const { page } = admin;
    const type = freshName("broken");
    const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "otto" });
    const { id } = await brokenJob({ type, token });
    await page.goto(`${hub.url}/jobs?type=${type}`);
    await page.locator(`[data-id="${id}"] .cell-preview`).getByText("no such table: users").waitFor();
    await page.goto(`${hub.url}/jobs/${id}`);
    await page.locator(".say q").getByText("no such table: users").waitFor();
    const stderr = page.getByRole("group", { name: "Stream" }).getByRole("button", { name: "stderr" });
    expect(await stderr.getAttribute("aria-pressed")).toBe("true");
    await page.locator(".terminal-row").getByText("no such table: users").waitFor();
    // The overview lists single failures for a person who may not see statistics.
    const user = await visit(admin.browser);
    await signIn(user.page, hub, token);
    await user.page.goto(`${hub.url}/`);
    await user.page.locator(`.causes a[href="/jobs/${id}"]`).getByText("no such table: users").waitFor();
    await user.context.close();
  });

  test("a failed job shows the last line of stderr in the list of a small screen, whole if it is short", async () => {
    const { page } = admin;
    const type = freshName("small");
    const { id } = await brokenJob({ type });
    const long = await brokenJob({ type, code: "SOLVER_CHECKSUM_MISMATCH" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${hub.url}/jobs?type=${type}`);
    /** How much of the line is visible, and how wide it is. */
    const widths = (job: string) =>
      page.locator(`[data-id="${job}"] .cell-preview .mono`).evaluate((line: Line) => {
        const right = Math.min(edges(line).right, edges(line.closest(".cell-preview")).right);
        return { seen: right - edges(line).left, whole: line.scrollWidth };
        function edges(of: Line) {
          return of.getBoundingClientRect();
        }
      });
    const short = await widths(id);
    expect(short.whole).toBeGreaterThan(80);
    expect(short.seen).toBeGreaterThanOrEqual(short.whole - 1);
    // Whatever the code, the line has half of the room.
    expect((await widths(long.id)).seen).toBeGreaterThan(80);
  });

  test("a dead letter says for how long it is kept, on its page and in the overview", async () => {
    const { page } = admin;
    const { id } = await quarantinedJob(hub);
    const kept = "kept for 7 days, or as WRIT_DEAD_LETTER_DAYS says";
    await page.goto(`${hub.url}/jobs/${id}`);
    await page.getByText(`It is a dead letter, ${kept}; it can be retried until then.`).waitFor();
    await page.goto(`${hub.url}/`);
    await page.getByText(`failed in every attempt; ${kept}`).waitFor();
  });

  test("O-27 a panel that is still loading says so and claims nothing", async () => {
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

  test("O-27 the overview does not say that it is empty before it has been read", async () => {
    const { page } = admin;
    await page.goto("about:blank");
    const releases = [await hold(page, /\/api\/v1\/workers(\?|$)/), await hold(page, /\/api\/v1\/jobs/)];
    await page.goto(`${hub.url}/`);
    await page.locator(".fleet-list").getByText("Loading …").waitFor();
    for (const release of releases) release();
    await expect.poll(() => page.getByText("Loading …").count()).toBe(0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  test("O-28 a delayed job is scheduled: in a list and a tab of its own, and in no waiting count", async () => {
    const { page } = admin;
    const type = freshName("delayed");
    const waits = await submitJob(hub, { type });
    const scheduled = await submitJob(hub, { type, run_at: Date.now() + 3_600_000 });
    await page.goto(`${hub.url}/jobs?type=${type}`);
    const stateOf = (id: string) => page.locator(`[data-id="${id}"] .cell-state`).textContent();
    await page.locator(`[data-id="${scheduled.id}"]`).waitFor();
    expect([await stateOf(waits.id), await stateOf(scheduled.id)]).toEqual(["Pending", "Scheduled"]);
    const ids = () =>
      page
        .locator(".row-window .job-row")
        .evaluateAll((all: { dataset: { id: string } }[]) => all.map((row) => row.dataset.id));
    await page.goto(`${hub.url}/jobs?state=pending&type=${type}`);
    await expect.poll(ids).toEqual([waits.id]);
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Scheduled 1" }).click();
    await expect.poll(ids).toEqual([scheduled.id]);
    await page.locator(`[data-id="${scheduled.id}"] a`).click();
    await page.locator("h1").getByText("Scheduled").waitFor();
    await page.locator(".say").getByText("It is to start at").waitFor();
    expect(await page.locator(".say").getByText("It has waited").count()).toBe(0);
  });

  test("O-28 on a phone, the scheduled jobs of a queue are counted below the waiting ones", async () => {
    const type = freshName("delayed");
    await submitJob(hub, { type, run_at: Date.now() + 3_600_000 });
    const { page } = admin;
    const before = page.viewportSize()!;
    onTestFinished(() => page.setViewportSize(before));
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${hub.url}/queues`);
    const cell = page.getByRole("row").filter({ hasText: type }).locator(".waiting-bar");
    const waiting = (await cell.getByText("0", { exact: true }).boundingBox())!;
    const scheduled = (await cell.getByRole("link", { name: "1 scheduled" }).boundingBox())!;
    expect(scheduled.y).toBeGreaterThan(waiting.y + waiting.height / 2);
  });

  test("O-28 the list of things that need attention has the most urgent first, and merges equal rows", async () => {
    const { page } = admin;
    const type = freshName("gpu");
    for (let job = 0; job < 2; job++) await submitJob(hub, { type, requires: { tags: ["gpu"] } });
    const blocked = [await registerWorker(hub), await registerWorker(hub)];
    for (const id of blocked) await hub.must("POST", `/workers/${id}/block`, { token: hub.admin, body: {} });
    await page.goto(`${hub.url}/`);
    const rows = page.locator(".attention li");
    await rows.filter({ hasText: "2 jobs that no worker can run" }).getByText(type).waitFor();
    await rows.filter({ hasText: "2 workers are blocked" }).getByText(blocked.join(" and ")).waitFor();
    const texts = await rows.allTextContents();
    const place = (text: string) => texts.findIndex((row) => row.includes(text));
    expect(place("no worker can run")).toBe(0);
    expect(place("2 workers are blocked")).toBeLessThan(place("HIGH alerts reach no channel"));
  });

  test("O-31 a cancelled job says who cancelled it and when", async () => {
    const { page } = admin;
    const { token } = await issueToken(hub, { role: "user", tenant_id: "acme", user_id: "anna" });
    const waiting = await submitJob(hub, { token });
    const held = await runningJob(hub, { token });
    for (const { id } of [waiting, held]) await hub.must("DELETE", `/jobs/${id}`, { token });
    await page.goto(`${hub.url}/jobs/${waiting.id}`);
    await page
      .locator(".say")
      .getByText(/^Cancelled by anna at \d\d:\d\d:\d\d\.$/)
      .waitFor();
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.locator(".say").getByText("is stopping it.").waitFor();
    await page.locator(".say").getByText("It was cancelled by anna").waitFor();
    const body = { ...held.fence, reason: "stopped", code: "EXECUTION_ERROR" };
    await hub.must("POST", `/jobs/${held.id}/fail`, { token: hub.admin, body });
    await page
      .locator(".say")
      .getByText(/stopped it .* later\./)
      .waitFor();
  });

  test("O-31 settings explain their numbers in words", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/settings?q=WRIT_WORKER_INACTIVE_MS`);
    await page.locator(".settings td.value").getByText("= ").first().waitFor();
  });

  test("O-31 every tab of a person who was signed out says why", async () => {
    const { id, token } = await issueToken(hub, { role: "viewer" });
    const one = await visit(admin.browser);
    await signIn(one.page, hub, token);
    const two = await visit(admin.browser, one.context);
    await two.page.goto(`${hub.url}/jobs`);
    await two.page.getByRole("heading", { name: "Jobs" }).waitFor();
    await hub.must("DELETE", `/tokens/${id}`, { token: hub.admin });
    for (const { page } of [one, two]) {
      await page.bringToFront();
      await page.getByRole("alert").getByText("was revoked or replaced").waitFor();
    }
    await signIn(one.page, hub, hub.admin);
    await two.page.bringToFront();
    await two.page.getByRole("button", { name: "Sign out" }).click();
    await one.page.bringToFront();
    await one.page.getByRole("alert").getByText("You have signed out in another tab").waitFor();
    await one.context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
