import { Agent } from "node:http";
import { test } from "vitest";
import { stillEnv, testHub } from "../support/hub.ts";
import { HubProcess } from "../support/hub-process.ts";
import { runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { openBrowser, signIn } from "./browser.ts";
import { browserSuite } from "./use-browser.ts";
import { visit } from "./visit.ts";

browserSuite("output on the page of a job", () => {
  test("output continues after the hub was stopped and started again", async () => {
    const own = new HubProcess(stillEnv);
    await own.start();
    const agent = new Agent();
    const { url, home, token: administrator } = own;
    const port = Number(new URL(url).port);
    const restarted = testHub({ url, port, home, admin: administrator, agent, stop: () => own.remove() });
    const browser = await openBrowser();
    const { page } = await visit(browser);
    try {
      const held = await runningJob(restarted);
      await signIn(page, own, administrator);
      await page.goto(`${url}/jobs/${held.id}`);
      await appendOutput(restarted, held, { bytes: Buffer.from("before the stop\n") });
      await page.getByText("before the stop").waitFor();
      // In order, as for an upgrade: it ends its streams as if they were complete.
      await own.kill("SIGTERM");
      await own.start();
      await appendOutput(restarted, held, { offset: 16, bytes: Buffer.from("after the start\n") });
      await page.getByText("after the start").waitFor();
    } finally {
      await browser.close();
      agent.destroy();
      await own.remove();
    }
  });
});
