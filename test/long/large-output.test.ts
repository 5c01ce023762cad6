import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, signIn } from "../dashboard/browser.ts";
import { browserSuite } from "../dashboard/use-browser.ts";
import { visit } from "../dashboard/visit.ts";
import { heapMib } from "../dashboard/watch-page.ts";
import { stillEnv } from "../support/hub.ts";
import { runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { hubForAll } from "../support/use-hub.ts";

const mib = 2 ** 20;
const size = 2 ** 30;
const chunkBytes = 8 * mib;
/** What the browser may read of it to show its end. */
const readBytesMax = mib;
/** What is held of an output, in lines with their places. */
const heapGrowthMibMax = 40;

browserSuite("a large output", () => {
  const hub = hubForAll({ ...stillEnv, WRIT_MAX_OUTPUT_BYTES: String(2 * size) });
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  test("of 1 GiB opens at its end after a few hundred kilobytes, and never fills the browser's memory", async () => {
    const held = await runningJob(hub);
    const line = `${"x".repeat(127)}\n`;
    const chunk = Buffer.from(line.repeat(chunkBytes / line.length));
    for (let offset = 0; offset < size; offset += chunkBytes) {
      const answer = await appendOutput(hub, held, { offset, bytes: chunk });
      expect(answer.status, answer.text).toBeLessThan(300);
    }
    await appendOutput(hub, held, { offset: size, bytes: Buffer.from("the end\n") });
    const { page } = await visit(browser);
    await signIn(page, hub, hub.admin);
    const before = await heapMib(page);
    let readBytes = 0;
    const outputs = new Set<string>();
    const session = await page.context().newCDPSession(page);
    await session.send("Network.enable");
    session.on("Network.requestWillBeSent", ({ requestId, request }) => {
      if (request.url.includes("/output/")) outputs.add(requestId);
    });
    session.on("Network.dataReceived", ({ requestId, dataLength }) => {
      if (outputs.has(requestId)) readBytes += dataLength;
    });
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.locator(".terminal").getByText("the end").waitFor();
    expect(readBytes).toBeGreaterThan(0);
    expect(readBytes).toBeLessThan(readBytesMax);
    expect(await page.locator(".terminal-row").count()).toBeLessThan(100);
    await page.getByRole("button", { name: "Go to the start" }).click();
    await page.locator('.terminal-row[data-number="1"]').waitFor();
    for (let turn = 0; turn < 40; turn++) {
      await page.locator(".terminal").evaluate("(box) => box.scrollTo(0, box.scrollHeight)");
      await page.waitForTimeout(50);
    }
    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.locator(".terminal").getByText("the end").waitFor();
    const after = await heapMib(page);
    console.log(JSON.stringify({ readBytes, heapMib: { before, after } }));
    expect(after - before).toBeLessThan(heapGrowthMibMax);
    expect(await page.locator(".terminal-row").count()).toBeLessThan(100);
  });
});
