import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { openBrowser, signIn } from "./browser.ts";
import { browserSuite } from "./use-browser.ts";
import { type Visitor, violations, visit } from "./visit.ts";

browserSuite("a real worker in the fleet", () => {
  const hub = new HubProcess();
  const worker = new WorkerProcess(hub, "oak-07", { WORKER_SLOTS: "3", PUSH_INTERVAL_MS: "200" });
  let browser: Browser;
  let admin: Visitor;

  beforeAll(async () => {
    await hub.start();
    browser = await openBrowser();
    admin = await visit(browser);
    await signIn(admin.page, hub, hub.token);
  });
  afterAll(async () => {
    await worker.remove();
    await browser?.close();
    await hub.remove();
  });

  test("a worker is added with a file that the page makes, and appears as soon as it registers", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/fleet`);
    await page.getByRole("button", { name: "Add a worker" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("two/words");
    await dialog.getByText("must be 1 to 100 letters").waitFor();
    expect(await dialog.getByRole("button", { name: /^Make / }).isDisabled()).toBe(true);
    await dialog.getByLabel("Name").fill(worker.id);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: `Make ${worker.id}.yaml` }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${worker.id}.yaml`);
    const file = join(worker.home, "agents.yaml");
    await download.saveAs(file);
    chmodSync(file, 0o600);
    const [, token] = /worker_token: "(sk_worker_[^"]+)"/.exec(readFileSync(file, "utf8")) ?? [];
    expect(await page.content()).not.toContain(token);
    expect(await dialog.getByText(`chmod 600 ${worker.id}.yaml && bin/writ worker`).count()).toBe(1);
    await dialog.getByText(`Waiting for the first heartbeat of ${worker.id}`).waitFor();
    worker.start();
    await dialog.getByText(`${worker.id} is here with 3 slots.`).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
  });

  test("the worker's row shows its isolation, and its load over time", async () => {
    const { page } = admin;
    const row = page.getByRole("row", { name: worker.id });
    await expect.poll(() => row.textContent()).toMatch(/strict|best-effort|none/);
    await expect.poll(() => row.locator(".sparks svg").count()).toBe(1);
    await expect.poll(() => row.locator(".sparks").textContent()).toMatch(/^\d+ %$/);
    await page.getByLabel("Filter workers").fill("isolation:nothing-like-it");
    await page.getByText("No worker matches.").waitFor();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
