import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { uploadForJob } from "../support/files.ts";
import { stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { openBrowser, signIn } from "./browser.ts";
import { browserSuite } from "./use-browser.ts";
import { seriousFaults, violations, visit } from "./visit.ts";

const folderId = "jobs";
const diff =
  "diff --git a/src/a.txt b/src/a.txt\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,1 +1,1 @@\n-Helo\n+Hello\n";
const agent = { tool_calls: 3, denied: 1, tokens_in: 500, tokens_out: 100 };

browserSuite("what an agent tells, on the page of its job", () => {
  const hub = hubForAll(stillEnv);
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  test("calls appear while it works, and each edit has its diff in the end", async () => {
    const { id, fence } = await runningJob(hub, { output_location: { folder_id: folderId, prefix: "x" } });
    const report = (act: string, body: object) =>
      hub.must("POST", `/jobs/${id}/${act}`, { token: hub.admin, body: { ...fence, ...body } });
    const edit = { call: 1, tool: "Edit", title: "src/a.txt", path: "src/a.txt", status: "completed" };
    const refused = { call: 2, tool: "Bash", title: "echo no > x <b>", status: "refused" };
    await report("agent", { calls: [edit, { ...refused, status: "running" }] });
    const { page } = await visit(browser);
    await signIn(page, hub, hub.admin);
    await page.goto(`${hub.url}/jobs/${id}`);
    const panel = page.getByRole("region", { name: "Agent" });
    await panel.getByText("running").waitFor();
    await report("agent", {
      calls: [refused, { call: 3, tool: "message", title: "Done.", status: "completed" }],
    });
    await panel.getByText("refused").waitFor();

    const held = { id, type: "", fence };
    const wish = { folderId, objectKey: "x/changes.diff", bytes: Buffer.from(diff) };
    const output_files = [await uploadForJob(hub, held, wish)];
    const usage = { agent: { ...agent, cost_micro_usd: 250_000 } };
    await report("result", { result: { changed: [] }, usage, output_files });
    await panel.getByText("it reports 3 calls · 1 refused · 500 tokens in, 100 out · $0.25").waitFor();
    await panel.locator("summary").click();
    await expect.poll(() => panel.locator("pre").textContent()).toContain("-Helo\n+Hello");
    expect(await seriousFaults(page)).toEqual([]);
    await panel.getByRole("textbox").fill("bash refused");
    await expect.poll(() => panel.getByRole("listitem").count()).toBe(1);
    await panel.getByRole("textbox").fill("no such call");
    await panel.getByText("None of its calls has these words").waitFor();
    expect(violations).toEqual([]);
  });
});
