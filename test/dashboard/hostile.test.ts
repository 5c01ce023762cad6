import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { claimJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { hubForAll } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

/** What a page with hostile text must never do. */
const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const turned = "invoice\u202egnp.exe";

browserSuite("hostile text in a browser", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);

  test("L-01, L-02: output, names, results and errors that are full of markup, escapes and turned text do nothing", async () => {
    const { page } = admin;
    const worker = await registerWorker(hub);
    const type = freshName("hostile");
    const { id } = await submitJob(hub, {
      type,
      run: { kind: "exec", argv: ["sh", "-c", hostile, turned] },
      metadata: { note: hostile },
    });
    const held = await claimJob(hub, { workerId: worker, type });
    await hub.must("POST", `/jobs/${id}/start`, { token: hub.admin, body: held.fence });
    const said = `${hostile}\n\x1b]0;owned\x07title\n\x1b[2Jcleared\n${turned}\n\x1b[31mred\x1b[0m\n`;
    await appendOutput(hub, held, { bytes: Buffer.from(said) });
    const body = {
      ...held.fence,
      code: "INVALID_JOB",
      reason: `${hostile} ${turned}`,
      partial_result: { [hostile]: hostile, [turned]: turned },
    };
    await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
    for (const path of [`/jobs?type=${type}`, `/jobs/${id}`]) {
      await page.goto(hub.url + path);
      await expect.poll(() => page.getByText("onerror").count()).toBeGreaterThan(0);
    }
    await page.locator(".terminal").getByText("cleared").waitFor();
    const boxes = await page.locator(".terminal .control-text").allTextContents();
    expect(boxes).toEqual(["ESC]0;owned", "ESC[2J", "U+202E"]);
    expect(await page.locator(".terminal .red").textContent()).toBe("red");
    expect(await page.locator(".job-head .command .control-text").allTextContents()).toEqual(["U+202E"]);
    expect(await page.locator(".say .control-text").allTextContents()).toEqual(["U+202E"]);
    // The name and the text of a result, and the word of the command in the document.
    expect(await page.locator(".tree .control-text").allTextContents()).toEqual(Array(3).fill("U+202E"));
    // Nothing on the page, its titles and labels included, has the character itself.
    expect(await page.content()).not.toContain("\u202e");
    expect(
      await page.evaluate(
        "[document.title, window.hacked, document.querySelectorAll('main img, main script').length]",
      ),
    ).toEqual([`${type} ${id.slice(-8)} · Writ`, undefined, 0]);
  });

  test("L-02: the name of a saved view cannot turn the text around it", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/jobs?type=${freshName("viewed")}`);
    await page.getByRole("button", { name: "Save view" }).click();
    await page.getByLabel("Name of the view").fill(turned);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".views .control-text").allTextContents()).toEqual(["U+202E"]);
    expect(await page.content()).not.toContain("\u202e");
    await page.getByRole("button", { name: "Remove this view" }).click();
  });

  test("L-02: the collector reports a script and a picture that the policy refuses", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    const before = violations.length;
    await page.evaluate(`(() => {
      const image = document.createElement("img");
      image.src = "http://127.0.0.1:9/elsewhere.png";
      document.body.append(image);
    })()`);
    // Once from the event, and once from the browser's console.
    await expect.poll(() => violations.length).toBe(before + 2);
    expect(violations.slice(before).join()).toContain("img-src refused");
    violations.length = before;
    await context.close();
  });

  test("nothing else that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
