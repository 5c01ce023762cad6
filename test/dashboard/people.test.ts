import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import {
  completedJob,
  failedJob,
  freshName,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import { openBrowser, signIn } from "./browser.ts";
import { browserSuite } from "./use-browser.ts";
import { type Visitor, violations, visit } from "./visit.ts";

browserSuite("what people see", () => {
  const hub = hubForAll(stillEnv);
  const tokens = tokensOf(hub);
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function enter(token: string, path: string): Promise<Visitor> {
    const visitor = await visit(browser);
    await signIn(visitor.page, hub, token);
    await visitor.page.goto(hub.url + path);
    await visitor.page.getByRole("heading", { level: 1 }).waitFor();
    return visitor;
  }

  /** What the hub answers to the page's own session, even where the page offers no button. */
  const callAs = (page: Page, method: string, path: string, body?: unknown) =>
    page.evaluate(
      async ([how, url, text]) => {
        const headers = { "Content-Type": "application/json" };
        const answer = await fetch(`/api/v1${url}`, {
          method: how!,
          headers,
          ...(text ? { body: text } : {}),
        });
        return answer.status;
      },
      [method, path, body === undefined ? "" : JSON.stringify(body)] as const,
    );

  test("a viewer sees jobs and cannot act by button, by key, or by calling the hub from the page", async () => {
    const type = freshName("seen");
    const held = await runningJob(hub, { token: tokens.alice, type });
    const failed = await failedJob(hub, { token: tokens.alice, type });
    const worker = await registerWorker(hub);
    const { page, context } = await enter(tokens.acmeViewer, `/jobs?type=${type}`);
    await expect.poll(() => page.locator(".row-window .job-row").count()).toBe(2);
    expect(await page.locator("input[type=checkbox]").count()).toBe(0);
    expect(await page.getByRole("link", { name: /Submit/ }).count()).toBe(0);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("n");
    expect(await page.getByRole("toolbar", { name: "Selected jobs" }).count()).toBe(0);
    expect(page.url()).toContain("/jobs?type=");
    for (const id of [held.id, failed.id]) {
      await page.goto(`${hub.url}/jobs/${id}`);
      await page.getByRole("heading", { level: 1, name: type }).waitFor();
      expect(await page.getByRole("button", { name: /Cancel|Retry|Submit a copy/ }).count()).toBe(0);
      for (const key of ["c", "r"]) await page.keyboard.press(key);
      expect(await page.getByRole("dialog").count()).toBe(0);
    }
    await page.goto(`${hub.url}/fleet`);
    await page.getByRole("row", { name: worker }).waitFor();
    expect(await page.getByRole("button", { name: /^(Drain|Block|Remove) |Add a worker/ }).count()).toBe(0);
    const refused = [
      ["POST", "/jobs", { type, run: { kind: "exec", argv: ["true"] } }],
      ["DELETE", `/jobs/${held.id}`],
      ["POST", `/jobs/${failed.id}/retry`, {}],
      ["POST", "/jobs/bulk", { act: "cancel", ids: [held.id] }],
      ["POST", `/workers/${worker}/block`, {}],
      ["POST", `/workers/${worker}/drain`, {}],
      ["POST", "/tokens", { role: "admin" }],
      ["GET", "/tokens"],
      ["GET", "/certs"],
      ["POST", "/keys/rotate", {}],
      ["POST", "/lockdown", { reason: "no" }],
      ["GET", "/audit"],
      ["GET", "/settings"],
    ] as const;
    for (const [method, path, body] of refused)
      expect(await callAs(page, method, path, body), `${method} ${path}`).toBe(403);
    expect(await callAs(page, "GET", `/jobs/${held.id}`)).toBe(200);
    await context.close();
  });

  test("a viewer sees the own role and the keys, and can change nothing", async () => {
    const { page, context } = await visit(browser);
    await signIn(page, hub, tokens.viewer);
    await page.goto(`${hub.url}/access`);
    await page.getByText("viewer: may see jobs, workers and statistics").waitFor();
    await page.locator(".keys").getByText("signs now").waitFor();
    expect(await page.getByRole("button", { name: /Rotate|Revoke|Give access|Lock|Lift/ }).count()).toBe(0);
    for (const path of ["/queues", "/audit", "/settings"]) {
      await page.goto(hub.url + path);
      await page.getByText("There is no such page, or you may not open it").waitFor();
    }
    await context.close();
  });

  test("another tenant's jobs do not exist: not in lists, counts, events, links or searches", async () => {
    const type = freshName("foreign");
    const { id } = await submitJob(hub, { token: tokens.alice, type });
    for (const token of [tokens.eve, tokens.globexViewer, tokens.globexAdmin]) {
      const { page, context } = await enter(token, "/jobs");
      const later = await submitJob(hub, { token: tokens.alice, type });
      const own = await submitJob(hub, { token: tokens.eve, type });
      // Events arrive in their order, so what came before this one is not on its way any more.
      await page.locator(`[data-id="${own.id}"]`).waitFor();
      for (const foreign of [id, later.id])
        expect(await page.locator(`[data-id="${foreign}"]`).count()).toBe(0);
      await page.goto(`${hub.url}/jobs?id=${id}`);
      await page.getByRole("heading", { name: "No job matches" }).waitFor();
      await page.goto(`${hub.url}/jobs/${id}`);
      await page.getByText("There is no such job").waitFor();
      expect(await callAs(page, "GET", `/jobs/${id}/output/stdout`)).toBe(404);
      expect(await callAs(page, "DELETE", `/jobs/${id}`)).toBe(token === tokens.globexViewer ? 403 : 404);
      await context.close();
    }
  });

  test("a user sees what jobctl shows: the same jobs, in the same order and states", async () => {
    for (let round = 0; round < 4; round++) {
      await submitJob(hub, { token: tokens.bob });
      await submitJob(hub, { token: tokens.alice });
      await completedJob(hub, { token: tokens.alice });
      await failedJob(hub, { token: tokens.alice });
      await runningJob(hub, { token: tokens.alice });
    }
    const env = { WRIT_HUB_URL: hub.url, WRIT_TOKEN: tokens.alice, WRIT_HOME: "/nonexistent" };
    const run = await runCli("jobctl", ["list", "--json"], { env });
    expect(run.stderr).toBe("");
    const listed = run.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { job_id: string; state: string; type: string });
    expect(listed.length).toBeGreaterThanOrEqual(16);
    const { page, context } = await enter(tokens.alice, "/jobs");
    const rows = page.locator(".row-window .job-row");
    await expect.poll(() => rows.count()).toBe(listed.length);
    const shown = (await rows.evaluateAll(
      (elements: { dataset: { id: string }; querySelector(what: string): { textContent: string } }[]) =>
        elements.map((row) => [row.dataset.id, row.querySelector(".cell-state").textContent.trim()]),
    )) as [string, string][];
    const words: Record<string, string[]> = {
      QUEUED: ["Pending", "Assigned", "Retrying"],
      RUNNING: ["Running"],
      EXITED: ["Completed", "Failed"],
      FAILED: ["Failed", "Dead letter"],
      STOPPED: ["Cancelled"],
    };
    expect(shown.map(([id]) => id)).toEqual(listed.map(({ job_id }) => job_id));
    for (const [index, [, word]] of shown.entries()) expect(words[listed[index]!.state]).toContain(word);
    await context.close();
  });

  test("an administrator of the hub looks at one tenant, one user or one cause, by words in the filter", async () => {
    const type = freshName("words");
    const oom = await failedJob(hub, { token: tokens.alice, type, max_attempts: 1, code: "OOM_KILLED" });
    const signaled = await failedJob(hub, { token: tokens.bob, type, max_attempts: 1, code: "SIGNALED" });
    const foreign = await submitJob(hub, { token: tokens.eve, type });
    const { page, context } = await enter(hub.admin, `/jobs?type=${type}`);
    const rows = page.locator(".row-window .job-row");
    const narrow = async (words: string, expected: string[]) => {
      // The field shows the whole filter, so what is typed there replaces all of it.
      await page.getByLabel("Filter jobs").fill(`type:${type} ${words}`);
      await page.keyboard.press("Enter");
      await expect
        .poll(() =>
          rows.evaluateAll((all: { dataset: { id: string } }[]) => all.map((row) => row.dataset.id)),
        )
        .toEqual(expected);
    };
    const tenants = rows.locator(".cell-job .tag");
    await expect.poll(() => tenants.allTextContents()).toEqual(["globex", "acme", "acme"]);
    await narrow("tenant:globex", [foreign.id]);
    expect(await tenants.count()).toBe(0);
    await narrow("tenant:acme", [signaled.id, oom.id]);
    await narrow("user:bob", [signaled.id]);
    await narrow("code:oom_killed", [oom.id]);
    await context.close();
  });

  test("a row shows the command of its job, cut and without control characters", async () => {
    const type = freshName("said");
    const argv = ["sh", "-c", "echo \u202egnp.exe", "x".repeat(300)];
    await submitJob(hub, { token: tokens.alice, type, run: { kind: "exec", argv } });
    const { page, context } = await enter(tokens.alice, `/jobs?type=${type}`);
    const command = page.locator(".row-window .job-row .command");
    const text = (await command.textContent())!;
    expect(text).toMatch(/^sh -c 'echo U\+202Egnp\.exe' x+…$/);
    expect(text.length).toBeLessThan(200);
    expect(await page.locator(".row-window .job-row .tag").count()).toBe(0);
    await context.close();
  });

  test("cancelled jobs are counted and listed apart from failed ones", async () => {
    const { token } = await issueToken(hub, { role: "user", tenant_id: "initech", user_id: "dora" });
    const failed = await failedJob(hub, { token, max_attempts: 1 });
    const cancelled = await submitJob(hub, { token });
    await hub.must("DELETE", `/jobs/${cancelled.id}`, { token });
    const { page, context } = await enter(token, "/");
    const count = (state: string) => page.locator(`.state-counts a[href="/jobs?state=${state}"] b`);
    await expect.poll(() => count("failed").textContent()).toBe("1");
    expect(await count("cancelled").textContent()).toBe("1");
    await expect.poll(() => page.locator(".causes tr").count()).toBe(1);
    await count("failed").click();
    const ids = () =>
      page
        .locator(".row-window .job-row")
        .evaluateAll((all: { dataset: { id: string } }[]) => all.map((row) => row.dataset.id));
    await expect.poll(ids).toEqual([failed.id]);
    await expect.poll(() => page.locator(".views a[aria-current] small").textContent()).toBe("1");
    await page.getByRole("button", { name: "Cancelled 1" }).click();
    await expect.poll(ids).toEqual([cancelled.id, failed.id]);
    await page.getByRole("button", { name: "Failed 1" }).click();
    await expect.poll(ids).toEqual([cancelled.id]);
    await context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
