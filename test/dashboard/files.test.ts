import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256Hex } from "../../src/signing/mac.ts";
import { presignForJob, uploadForJob } from "../support/files.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { type HeldJob, runningJob } from "../support/jobs.ts";
import { startS3Server } from "../support/s3-server.ts";
import { hubForAll, startedForAll } from "../support/use-hub.ts";
import { openBrowser, signIn } from "./browser.ts";
import { drawPng } from "./draw-png.ts";
import { browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

const folderId = "pictures";
const page = "<!doctype html><script>window.hacked=1</script><h1>hacked</h1>";
const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"><script>window.hacked=1</script></svg>`;
const files = {
  "chart.png": drawPng({ width: 40, height: 20 }),
  "logo.svg": Buffer.from(svg),
  "page.png": Buffer.from(page),
  "drawing.png": Buffer.from(svg),
  "notes.txt": Buffer.from("text"),
};

/** A job that has stored the files above. */
async function jobWithFiles(hub: TestHub, upload: typeof uploadForJob): Promise<string> {
  const held = await runningJob(hub, { output_location: { folder_id: folderId } });
  const output_files = [];
  for (const [objectKey, bytes] of Object.entries(files)) {
    output_files.push(await upload(hub, held, { folderId, objectKey, bytes }));
  }
  await hub.must("POST", `/jobs/${held.id}/result`, {
    token: hub.admin,
    body: { ...held.fence, result: 1, output_files },
  });
  return held.id;
}

/** An object store that receives files itself, as from a worker. */
const uploadToStore: typeof uploadForJob = async (hub, held, { folderId: folder, objectKey, bytes }) => {
  const facts = { size: bytes.length, sha256: sha256Hex(bytes) };
  const wish = { folderId: folder, objectKey, method: "PUT", ...facts };
  const [url] = await presignForJob(hub, held, wish);
  const answer = await fetch(url!.url, {
    method: "PUT",
    headers: url!.headers ?? {},
    body: new Uint8Array(bytes),
  });
  if (!answer.ok) throw new Error(`the store answered ${answer.status}`);
  return { folder_id: folder, object_key: objectKey, ...facts };
};

browserSuite("files in a browser", () => {
  const hub = hubForAll(stillEnv);
  const s3 = startedForAll(startS3Server);
  const s3Hub = startedForAll(() => startTestHub({ ...stillEnv, ...s3.env, WRIT_S3_PLAINTEXT: "true" }));
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  async function openJob(at: TestHub, upload: typeof uploadForJob) {
    const id = await jobWithFiles(at, upload);
    const visitor = await visit(browser);
    await signIn(visitor.page, at, at.admin);
    await visitor.page.goto(`${at.url}/jobs/${id}`);
    return { ...visitor, id, panel: visitor.page.getByRole("region", { name: "Files" }) };
  }

  test("pictures are shown, and a file that only looks like one runs nothing and is a broken picture", async () => {
    const { page: tab, context, panel, id } = await openJob(hub, uploadForJob);
    const chart = panel.getByRole("img", { name: "chart.png" });
    await chart.scrollIntoViewIfNeeded();
    await expect
      .poll(() => chart.evaluate((image: { naturalWidth?: number }) => image.naturalWidth))
      .toBe(40);
    await expect.poll(() => panel.getByText("is not a picture that this browser can draw").count()).toBe(2);
    expect(await panel.locator("img").count()).toBe(1);
    expect(await panel.getByRole("link", { name: "Download logo.svg" }).count()).toBe(1);
    await panel.getByRole("button", { name: "Show chart.png" }).click();
    await tab.getByRole("dialog").getByRole("img", { name: "chart.png" }).waitFor();
    await tab.getByRole("button", { name: "Close" }).click();
    // Opened by itself, it is still no page of the hub. The browser's own viewer is not our page either.
    const viewer = await context.newPage();
    const url = `${hub.url}/api/v1/jobs/${id}/artifacts/page.png?folder_id=${folderId}&preview=true`;
    const answer = await viewer.goto(url);
    expect(answer?.headers()).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
    });
    expect(await viewer.evaluate("window.hacked")).toBeUndefined();
    await context.close();
  });

  test("a file is downloaded as it is", async () => {
    const { page: tab, context, panel } = await openJob(hub, uploadForJob);
    const [download] = await Promise.all([
      tab.waitForEvent("download"),
      panel.getByRole("link", { name: "Download notes.txt" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("notes.txt");
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe("text");
    await context.close();
  });

  test("pictures in an object store come from exactly its origin, which the policy names", async () => {
    const policy = async (at: TestHub) =>
      (await at.call("GET", "//")).headers["content-security-policy"] as string;
    expect(await policy(hub)).toContain("img-src 'self';");
    expect(await policy(s3Hub)).toContain(`img-src 'self' ${new URL(s3.settings.endpoint).origin};`);
    const { context, panel } = await openJob(s3Hub, uploadToStore);
    const chart = panel.getByRole("img", { name: "chart.png" });
    await chart.scrollIntoViewIfNeeded();
    await expect
      .poll(() => chart.evaluate((image: { naturalWidth?: number }) => image.naturalWidth))
      .toBe(40);
    await expect.poll(() => panel.getByText("is not a picture that this browser can draw").count()).toBe(2);
    await context.close();
  });

  test("a file that is no picture by its name or its size has no preview", async () => {
    const id = await jobWithFiles(hub, uploadForJob);
    for (const key of ["logo.svg", "notes.txt"]) {
      const path = `/jobs/${id}/artifacts/${key}?preview=true`;
      const answer = await hub.call("GET", path, { token: hub.admin });
      expect(answer, key).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
      expect(answer.text).toContain(`preview: must be false for ${key}`);
    }
  });

  /** Sends what the worker reports about a job with its next heartbeat. */
  const beatOf = (held: HeldJob) => (usage: object) =>
    hub.must("POST", "/workers/heartbeat", {
      token: hub.admin,
      body: {
        worker_id: held.fence.worker_id,
        current_jobs: [{ job_id: held.id, attempt: held.fence.attempt, token: held.fence.token, usage }],
      },
    });

  test("the meters of a running job follow its reports", async () => {
    const held = await runningJob(hub, { limits: { cpu: "2", memory: "2G" } });
    const { page: tab, context } = await visit(browser);
    const beat = beatOf(held);
    await beat({ cpu_ms: 1, memory_peak_bytes: 512 * 2 ** 20 });
    await signIn(tab, hub, hub.admin);
    await tab.goto(`${hub.url}/jobs/${held.id}`);
    await tab.getByText("now, limit").waitFor();
    await expect
      .poll(() => tab.getByRole("meter", { name: "Memory" }).getAttribute("aria-valuenow"))
      .toBe("25");
    expect(await tab.getByRole("meter", { name: "CPU" }).getAttribute("aria-valuenow")).toBe("0");
    await beat({ cpu_ms: 900_000_000, memory_peak_bytes: 1536 * 2 ** 20 });
    await expect
      .poll(() => tab.getByRole("meter", { name: "Memory" }).getAttribute("aria-valuenow"))
      .toBe("75");
    await expect
      .poll(() => tab.getByRole("meter", { name: "CPU" }).getAttribute("aria-valuenow"))
      .toBe("100");
    await context.close();
  });

  test("processes and disk are shown with their limits, and figures that the host does not count are named", async () => {
    const held = await runningJob(hub, { limits: { io: "low", pids: 64 } });
    const { page: tab, context } = await visit(browser);
    const beat = beatOf(held);
    await beat({ cpu_ms: 1 });
    await signIn(tab, hub, hub.admin);
    await tab.goto(`${hub.url}/jobs/${held.id}`);
    const meters = tab.locator(".meters > div");
    const text = (name: string) => meters.filter({ hasText: name }).textContent();
    await tab.getByText("now, limit").waitFor();
    expect(await text("Processes")).toContain("not measured, up to 64");
    expect(await text("Disk")).toContain("not measured, up to 1 MiB/s");
    expect(await text("Memory")).toContain("not measured");
    const used = { memory_bytes: 2 ** 20, pids: 16, io_read_bytes: 0 };
    await beat({ ...used, cpu_ms: 2, io_write_bytes: 0 });
    await expect
      .poll(() => tab.getByRole("meter", { name: "Processes" }).getAttribute("aria-valuenow"))
      .toBe("25");
    expect(await text("Processes")).toContain("16 of 64");
    await beat({ ...used, cpu_ms: 3, io_write_bytes: 2 ** 40 });
    await expect
      .poll(() => tab.getByRole("meter", { name: "Disk" }).getAttribute("aria-valuenow"))
      .toBe("100");
    expect(await text("Disk")).toContain("of 1 MiB/s");
    await context.close();
  });

  test("O-31 a limit that the host could not set is named as not applied, and has no bar", async () => {
    const held = await runningJob(hub, { limits: { cpu: "500m", memory: "100M" } });
    const why = "no controller";
    const missing = ["cpu", "memory"].map((part) => ({ part, why }));
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: {
        ...held.fence,
        result: 1,
        usage: { cpu_ms: 1, memory_peak_bytes: 2 ** 20 },
        isolation: { level: "best-effort", applied: [], missing },
      },
    });
    const { page: tab, context } = await visit(browser);
    await signIn(tab, hub, hub.admin);
    await tab.goto(`${hub.url}/jobs/${held.id}`);
    const meters = tab.locator(".meters > div");
    const text = (name: string) => meters.filter({ hasText: name }).textContent();
    expect(await text("CPU")).toMatch(/[\d.]+ cores, limit of 0.5 cores not applied$/);
    expect(await text("Memory")).toBe("Memorypeak 1 MiB, limit of 100 MiB not applied");
    expect(await tab.getByRole("meter", { name: "CPU" }).count()).toBe(0);
    await context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
