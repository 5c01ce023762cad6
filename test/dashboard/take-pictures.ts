import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { registerWorker } from "../support/jobs.ts";
import { openBrowser, signIn } from "./browser.ts";
import { busyShots, emptyShots, lockedShots, quietShots, type Shot, sizes } from "./picture-shots.ts";
import { setStage } from "./stage.ts";
import { stageAdministration, stageQuotas } from "./stage-administration.ts";

// Takes a picture of each page and state, light, dark and on a phone, into the folder that is given; with `--small` at
// the size for docs/images, else at twice that, to look at details.
const [folder = "/tmp/writ-pictures", ...wishes] = process.argv.slice(2);
if (folder.startsWith("-")) {
  console.error("usage: npm run pictures -- [FOLDER] [PART OF A NAME] [--small]");
  process.exit(2);
}
const isSmall = wishes.includes("--small");
const only = wishes.find((wish) => !wish.startsWith("--"));
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
const themes = ["light", "dark"] as const;
/** The page says that it is stale ten seconds after the hub was lost. */
const staleMs = 14_000;

/** Small pictures are JPEG, which is half as large as PNG. */
async function take(page: Page, name: string): Promise<void> {
  if (isSmall) await page.screenshot({ path: join(folder, `${name}.jpg`), type: "jpeg", quality: 76 });
  else await page.screenshot({ path: join(folder, `${name}.png`) });
}

type Camera = { context: BrowserContext; page: Page };

async function openCamera(size: keyof typeof sizes): Promise<Camera> {
  const context = await browser.newContext({
    viewport: sizes[size],
    deviceScaleFactor: isSmall ? 1 : 2,
    hasTouch: size === "phone",
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.on("pageerror", (error) => console.log("page error:", error.message));
  await page.route("**/healthz", (route) => route.fulfill({ json: { status: "ok", version } }));
  return { context, page };
}

async function takeShots(hub: TestHub, shots: Shot[]): Promise<void> {
  for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
    const chosen = shots.filter(
      (one) => one.size === size && (only === undefined || one.name.includes(only)),
    );
    if (chosen.length === 0) continue;
    const { context, page } = await openCamera(size);
    await signIn(page, hub, hub.admin);
    for (const shot of chosen) await takeShot(page, hub, shot);
    await context.close();
  }
}

async function takeShot(page: Page, hub: TestHub, { name, path, theme, act }: Shot): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  // A job is opened from the list, which knows its neighbours.
  await page.goto(hub.url + (path.startsWith("/jobs/") ? "/jobs?state=running,pending,quarantined" : path));
  await page.waitForTimeout(600);
  if (path.startsWith("/jobs/")) {
    await page.evaluate(`
      const link = document.querySelector("a[href='/jobs']");
      link.setAttribute("href", "${path}");
      link.click();
    `);
    // Signatures are checked, and pictures drawn, after the page itself.
    await page.waitForTimeout(2_500);
  }
  await act?.(page);
  await page.waitForTimeout(300);
  await take(page, name);
}

async function takeLogin(hub: TestHub): Promise<void> {
  const { context, page } = await openCamera("desktop");
  await page.goto(`${hub.url}/`);
  await page.waitForTimeout(300);
  await take(page, "login");
  await context.close();
}

async function takeEmptyHub(): Promise<void> {
  const hub = await startTestHub();
  await registerWorker(hub, { worker_id: "oak-01", slots: 16, cores: 16, ram_gb: 64 });
  await takeShots(hub, emptyShots);
  await hub.stop();
}

/** The page stays open while its hub goes away. */
async function takeStale(stage: Awaited<ReturnType<typeof setStage>>): Promise<void> {
  const cameras = await Promise.all(
    (["desktop", "phone"] as const).map(async (size) => ({ size, ...(await openCamera(size)) })),
  );
  for (const { page } of cameras) {
    await signIn(page, stage.hub, stage.hub.admin);
    await page.waitForTimeout(1_500);
  }
  await stage.stop();
  await cameras[0]!.page.waitForTimeout(staleMs);
  for (const { page, size, context } of cameras) {
    for (const theme of size === "phone" ? themes.slice(0, 1) : themes) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await take(page, `${size === "phone" ? "phone-" : ""}stale${theme === "dark" ? "-dark" : ""}`);
    }
    await context.close();
  }
}

const lockdown = { reason: "12 signature failures in 60 s, seen by this hub" };

try {
  await takeEmptyHub();
  const stage = await setStage();
  const traffic = stage.keepBusy();
  await stageQuotas(stage.hub);
  await takeShots(stage.hub, busyShots);
  await traffic.stop();
  await stageAdministration(stage.hub);
  await takeLogin(stage.hub);
  await takeShots(stage.hub, quietShots(stage.jobs));
  await stage.hub.must("POST", "/lockdown", { token: stage.hub.admin, body: lockdown });
  await takeShots(stage.hub, lockedShots);
  await stage.hub.must("DELETE", "/lockdown", { token: stage.hub.admin });
  await takeStale(stage);
} finally {
  await browser.close();
}
