import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { HubProcess } from "../support/hub-process.ts";
import {
  claimJob,
  freshName,
  quarantinedJob,
  registerWorker,
  runningJob,
  submitJob,
} from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { receiptFor, signedRunningJob } from "../support/receipts.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

browserSuite("the dashboard in a browser", () => {
  const hub = hubForAll(stillEnv);
  const tokens = tokensOf(hub);
  const admin = adminForAll(hub);

  test("a wrong token is refused with a message, and the right one opens the jobs", async () => {
    const { page, context } = await visit(admin.browser);
    await page.goto(`${hub.url}/jobs`);
    const hint = await page.locator("#token-hint").textContent();
    expect(hint).toContain("writ open makes a link");
    // Anybody can read this page, so it must not name the home.
    expect(hint).not.toMatch(/\.writ|\//);
    await page.getByLabel("Token").fill("sk_user_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Token").fill(tokens.alice);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({
      name: expect.stringMatching(/^writ_session_/),
      httpOnly: true,
      sameSite: "Strict",
    });
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await context.close();
  });

  test("a link of writ open signs in once, and its code does not stay in the address", async () => {
    const { page, context } = await visit(admin.browser);
    const { code } = (await hub.must("POST", "/session/code", { token: tokens.alice })).json<{
      code: string;
    }>();
    await page.goto(`${hub.url}/jobs#login=${code}`);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    expect(page.url()).toBe(`${hub.url}/jobs`);
    await context.close();
    const late = await visit(admin.browser);
    await late.page.goto(`${hub.url}/#login=${code}`);
    await expect.poll(() => late.page.getByRole("alert").textContent()).toContain("no longer valid");
    expect(late.page.url()).not.toContain(code);
    await late.context.close();
  });

  test("a new job appears in the list by itself and changes in place until it has ended", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/jobs`);
    const type = freshName("live");
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    const workerId = await registerWorker(hub);
    const { id } = await submitJob(hub, { type });
    const row = page.locator(`[data-id="${id}"]`);
    await row.waitFor();
    await expect.poll(() => row.textContent()).toContain("Pending");
    const held = await claimJob(hub, { workerId, type });
    await hub.must("POST", `/jobs/${id}/start`, { token: hub.admin, body: held.fence });
    await expect.poll(() => row.textContent()).toContain("Running");
    await hub.must("POST", `/jobs/${id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: { answer: 42 } },
    });
    await expect.poll(() => row.textContent()).toContain('{"answer":42}');
  });

  test("a filter is in the address, and the link shows the same list to another person", async () => {
    const { page } = admin;
    const type = freshName("shared");
    const { id } = await submitJob(hub, { type });
    await page.goto(`${hub.url}/jobs`);
    await page.getByLabel("Filter jobs").fill(`type:${type}`);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".row-window .job-row").count()).toBe(1);
    expect(page.url()).toContain(`type=${type}`);
    const other = await visit(admin.browser, admin.context);
    await other.page.goto(page.url());
    await other.page.locator(`[data-id="${id}"]`).waitFor();
    expect(await other.page.locator(".row-window .job-row").count()).toBe(1);
    await other.page.close();
  });

  test("output arrives live, and the job is cancelled from its page", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.getByText("Runs on").first().waitFor();
    await appendOutput(hub, held, { bytes: Buffer.from("first line\n") });
    await page.getByText("first line").waitFor();
    await appendOutput(hub, held, { offset: 11, bytes: Buffer.from("second line\n") });
    await page.getByText("second line").waitFor();
    await page.keyboard.press("c");
    const keep = page.getByRole("button", { name: "Go back" });
    await expect.poll(() => keep.evaluate("document.activeElement.textContent")).toBe("Go back");
    await page.getByRole("button", { name: "Cancel the job" }).click();
    await page.getByText("is stopping it.").waitFor();
  });

  test("the page requests no range of output from an attempt that wrote nothing", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    const refused: string[] = [];
    page.on("response", (answer) => {
      if (answer.url().includes("/output/") && !answer.ok()) refused.push(answer.url());
    });
    const { id } = await quarantinedJob(hub);
    for (const attempt of [1, 2]) {
      await page.goto(`${hub.url}/jobs/${id}?attempt=${attempt}`);
      await page.getByText("0 bytes, all shown").first().waitFor();
    }
    expect(refused).toEqual([]);
    await context.close();
  });

  test("an address without a page says so in the page", async () => {
    const { page } = admin;
    await page.goto(`${hub.url}/nope`);
    await page.getByText("There is no such page").waitFor();
    await page.getByRole("link", { name: "Show the jobs" }).click();
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
  });

  test("the signatures of a receipt are checked in the browser, and a wrong one is shown as wrong", async () => {
    const { page } = admin;
    const held = await signedRunningJob(hub);
    const receipt = await receiptFor(hub, held, { result: { answer: 42 } });
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: { answer: 42 }, receipt },
    });
    await page.goto(`${hub.url}/jobs/${held.id}`);
    for (const part of ["Ordered", "Allowed", "Proven"]) {
      await page.getByRole("button", { name: `${part}: verified` }).waitFor();
    }
    await page.route("**/receipt", async (route) => {
      const answer = await route.fetch();
      const bundle = (await answer.json()) as { signed: string; receipt: string };
      const forged = bundle.receipt.replace('"attempt":1', '"attempt":2');
      await route.fulfill({ response: answer, json: { ...bundle, receipt: forged, signed: forged } });
    });
    await page.reload();
    await page.getByRole("button", { name: "Proven: does not verify" }).waitFor();
    await page.unroute("**/receipt");
  });

  test("a job is submitted by the form, which says what is wrong, and a copy of it has its fields", async () => {
    const { page } = admin;
    const type = freshName("formed");
    await page.goto(`${hub.url}/jobs`);
    await page.getByRole("heading", { name: "Jobs" }).waitFor();
    await page.keyboard.press("n");
    await page.getByRole("heading", { name: "Submit a job" }).waitFor();
    await page.getByLabel("Type").fill("not a type");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("is required").first().waitFor();
    await page.getByLabel("Type").fill(type);
    await page.getByLabel("Command required").fill("sh -c 'echo $HOME'");
    await page.getByLabel("Memory").fill("256M");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { level: 1, name: type }).waitFor();
    const id = page.url().split("/").at(-1)!;
    const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json();
    expect(job).toMatchObject({ run: { argv: ["sh", "-c", "echo $HOME"] }, limits: { memory: "256M" } });
    await page.goto(`${hub.url}/submit?from=${id}`);
    await expect.poll(() => page.getByLabel("Command required").inputValue()).toBe("sh -c 'echo $HOME'");
    expect(await page.getByLabel("Memory").inputValue()).toBe("256M");
  });

  test("a large output opens at its end and is searched whole, and the page never holds all of it", async () => {
    const { page } = admin;
    const held = await runningJob(hub);
    const line = `${"x".repeat(99)}\n`;
    const half = Buffer.from(line.repeat(40_000));
    const size = half.length;
    await appendOutput(hub, held, { bytes: Buffer.concat([Buffer.from("needle at the start\n"), half]) });
    await appendOutput(hub, held, {
      offset: 20 + size,
      bytes: Buffer.concat([half, Buffer.from("the end\n")]),
    });
    await page.goto(`${hub.url}/jobs/${held.id}`);
    await page.locator(".terminal").getByText("the end").waitFor();
    expect(await page.locator(".terminal-row").count()).toBeLessThan(100);
    await page.getByLabel("Search the output").fill("Needle");
    await page.getByText("1 of 1", { exact: true }).waitFor();
    await page.locator(".terminal mark").getByText("needle").waitFor();
    await page.getByLabel("Search the output").fill("");
    await page.getByRole("button", { name: "Go to the end" }).click();
    await page.locator(".terminal").getByText("the end").waitFor();
  });

  test("a worker is drained and blocked from the fleet", async () => {
    const { page } = admin;
    const worker = await registerWorker(hub);
    await page.goto(`${hub.url}/fleet?q=${worker}`);
    await page.getByRole("button", { name: `Drain ${worker}` }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(`${worker} works again`).waitFor();
    await page.getByRole("button", { name: `Block ${worker}` }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: `Block ${worker}` })
      .click();
    await page.getByRole("button", { name: "Unblock" }).waitFor();
  });

  test("a dead letter is retried from its view, after the hub has counted", async () => {
    const { page } = admin;
    const { id, type } = await quarantinedJob(hub);
    await page.goto(`${hub.url}/jobs?state=dead&type=${type}`);
    await page.locator(`[data-id="${id}"] input`).click();
    await page
      .getByRole("toolbar", { name: "Selected jobs" })
      .getByRole("button", { name: "Retry 1" })
      .click();
    await page.getByText("1 can be retried, none is left alone").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Retry 1" }).click();
    await page.getByText("1 job is back in the queue").waitFor();
    expect((await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json()).toMatchObject({
      status: "pending",
    });
  });

  test("the bar acts on selected jobs; acts on all matching jobs are apart, and their question names filter and count", async () => {
    const { page } = admin;
    const type = freshName("chosen");
    const [ticked, other] = [await submitJob(hub, { type }), await submitJob(hub, { type })];
    const statusOf = async (id: string) =>
      (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json().status;
    await page.goto(`${hub.url}/jobs?type=${type}`);
    await page.locator(`[data-id="${ticked.id}"] input`).click();
    const bar = page.getByRole("toolbar", { name: "Selected jobs" });
    await bar.getByRole("button", { name: "Cancel 1 selected" }).click();
    await page.getByRole("heading", { name: "Cancel 1 selected job?" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel 1" }).click();
    await expect.poll(() => statusOf(ticked.id)).toBe("failed");
    expect(await statusOf(other.id)).toBe("pending");
    // The ticked job has ended, so the bar offers no act.
    await page.locator(`[data-id="${ticked.id}"][aria-selected="false"] input`).click();
    await bar.getByText("none can be retried or cancelled").or(bar.getByText("Retry 1 selected")).waitFor();
    expect(await bar.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    await page.getByRole("button", { name: "Cancel all…" }).click();
    await page.getByRole("heading", { name: "Cancel the one job that matches the filter?" }).waitFor();
    await page.getByRole("dialog").getByText(`type is ${type}`).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel all 1" }).click();
    await expect.poll(() => statusOf(other.id)).toBe("failed");
  });

  test("a page requests a refused job once, however long it stays open", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, hub.admin);
    const id = "01900000-0000-7000-8000-000000000000";
    let asked = 0;
    page.on("request", (request) => {
      if (request.url().includes(id) && request.url().includes("/api/")) asked += 1;
    });
    await page.clock.install();
    await page.goto(`${hub.url}/jobs/${id}`);
    await page.getByText("There is no such job").waitFor();
    const before = asked;
    expect(before).toBeGreaterThan(0);
    await page.clock.runFor(60_000);
    await page.getByText("There is no such job").waitFor();
    expect(asked).toBe(before);
    await context.close();
  });

  test("eight tabs share one stream, and the next one continues when the first is closed", async () => {
    const { context, page: first } = await visit(admin.browser);
    let streams = 0;
    context.on("request", (request) => {
      if (request.url().includes("/jobs/events")) streams += 1;
    });
    await signIn(first, hub, hub.admin);
    // The page that signed in may open a stream at any moment, so it is closed before the test waits for another
    // stream.
    await first.goto("about:blank");
    await Promise.all([first.waitForRequest(/\/jobs\/events\b/), first.goto(`${hub.url}/jobs`)]);
    await first.getByRole("heading", { name: "Jobs" }).waitFor();
    const before = streams;
    const others: Page[] = [];
    for (let count = 0; count < 7; count++) {
      const { page } = await visit(admin.browser, context);
      await page.goto(`${hub.url}/jobs`);
      others.push(page);
    }
    const last = others.at(-1)!;
    await last.bringToFront();
    const one = await submitJob(hub);
    await last.locator(`[data-id="${one.id}"]`).waitFor();
    expect(streams).toBe(before);
    await first.close();
    const two = await submitJob(hub);
    await last.locator(`[data-id="${two.id}"]`).waitFor();
    await expect.poll(() => streams).toBe(before + 1);
    expect(await last.locator(`[data-id="${two.id}"]`).count()).toBe(1);
    await context.close();
  });

  test("the page reports a lost hub and keeps its rows, and nothing is missing or doubled when the hub is back", async () => {
    const own = new HubProcess();
    await own.start();
    const { context, page } = await visit(admin.browser);
    try {
      const submit = async () => {
        const headers = { Authorization: `Bearer ${own.token}`, "Content-Type": "application/json" };
        const body = JSON.stringify({ type: "away", run: { kind: "exec", argv: ["true"] } });
        const answer = await fetch(`${own.url}/api/v1/jobs`, { method: "POST", headers, body });
        return ((await answer.json()) as { id: string }).id;
      };
      const before = await submit();
      await signIn(page, own, own.token);
      await page.goto(`${own.url}/jobs`);
      await page.locator(`[data-id="${before}"]`).waitFor();
      await own.kill();
      await page.getByText("Not live since").waitFor();
      expect(await page.locator(`[data-id="${before}"]`).count()).toBe(1);
      await own.start();
      const meanwhile = await submit();
      await page.locator(`[data-id="${meanwhile}"]`).waitFor();
      await expect.poll(() => page.getByText("Not live since").count()).toBe(0);
      expect(await page.locator(".row-window .job-row").count()).toBe(2);
    } finally {
      await context.close();
      await own.remove();
    }
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
