import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { openBrowser } from "./browser.ts";
import { browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

/** More tab stops than any page has between two of its controls. */
const stopsMax = 150;

/** Presses Tab until the control with this name has the focus, as a person without a mouse does. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const seen: string[] = [];
  for (let stop = 0; stop < stopsMax; stop++) {
    await page.keyboard.press("Tab");
    const focused = (await page.evaluate(`(() => {
      const { activeElement: element } = document;
      const label = element.labels?.[0]?.textContent;
      return (element.getAttribute("aria-label") ?? label ?? element.textContent ?? "").trim();
    })()`)) as string;
    if (typeof name === "string" ? focused === name : name.test(focused)) return;
    seen.push(focused.slice(0, 40));
  }
  throw new Error(`no control ${name} was reached by Tab; seen: ${[...new Set(seen)].join(" | ")}`);
}

browserSuite("the dashboard without a mouse", () => {
  const hub = hubForAll(stillEnv);
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    ({ page } = await visit(browser));
    // A click in this file would be a mistake: the page has no pointer.
    await page.goto(`${hub.url}/jobs`);
  });
  afterAll(async () => {
    await browser?.close();
  });

  const heading = (name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

  test("a person signs in", async () => {
    await page.getByLabel("Token").waitFor();
    await tabTo(page, "Token");
    await page.keyboard.type(hub.admin);
    await page.keyboard.press("Enter");
    await heading("Jobs");
  });

  test("a person submits a job, watches it, cancels and retries it", async () => {
    const type = freshName("typed");
    await page.keyboard.press("n");
    await heading("Submit a job");
    await tabTo(page, /^Type/);
    await page.keyboard.type(type);
    await tabTo(page, /^Command/);
    await page.keyboard.type("echo hello");
    await tabTo(page, /^Submit/);
    await page.keyboard.press("Enter");
    await heading(type);
    await page.keyboard.press("c");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Cancel the job");
    await page.keyboard.press("Enter");
    await page.getByText(/^Cancelled by /).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, /^Retry/);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByText(/^Cancelled by /).count()).toBe(0);
    await page.locator(".job-head .state", { hasText: "Pending" }).waitFor();
  });

  test("a person filters the list, selects and opens a row, and goes back", async () => {
    const type = freshName("found");
    const made = await hub.must("POST", "/jobs", {
      token: hub.admin,
      body: { type, run: { kind: "exec", argv: ["true"] } },
    });
    const { id } = made.json<{ id: string }>();
    await page.keyboard.press("g");
    await page.keyboard.press("j");
    await heading("Jobs");
    await page.keyboard.press("/");
    await page.keyboard.type(`type:${type}`);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".row-window .job-row").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByRole("toolbar", { name: "Selected jobs" }).waitFor();
    await tabTo(page, /^Cancel 1/);
    await page.keyboard.press("Enter");
    await page.getByText("1 can be cancelled, none is left alone").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("c");
    await page.getByText("1 can be cancelled, none is left alone").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.locator(`[data-id="${id}"].current`).waitFor();
    await page.keyboard.press("Enter");
    await heading(type);
    await page.goBack();
    await heading("Jobs");
  });

  test("a person blocks and unblocks a worker", async () => {
    const worker = await registerWorker(hub);
    await page.keyboard.press("g");
    await page.keyboard.press("f");
    await heading("Fleet");
    await page.getByRole("button", { name: `Block ${worker}` }).waitFor();
    await tabTo(page, `Block ${worker}`);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, `Block ${worker}`);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unblock" }).waitFor();
    expect((await hub.must("GET", `/workers/${worker}`, { token: hub.admin })).json()).toMatchObject({
      status: "blocked",
    });
    await tabTo(page, "Unblock");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("button", { name: "Unblock" }).count()).toBe(0);
  });

  test("a person searches, changes the theme, reads the list of keys, and signs out", async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("dead");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("state=dead");
    const theme = () => page.evaluate("document.documentElement.dataset.theme");
    await page.keyboard.press("t");
    expect(await theme()).toBe("dark");
    await page.keyboard.press("t");
    expect(await theme()).toBe("light");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await tabTo(page, "Sign out");
    await page.keyboard.press("Enter");
    await page.getByLabel("Token").waitFor();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
