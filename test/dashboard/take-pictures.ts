import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openBrowser, signIn } from "./browser.ts";
import { setStage } from "./stage.ts";
import { stageAdministration } from "./stage-administration.ts";

// Takes a picture of each page, light, dark and on a phone, into the folder that is given; with `--small` at the size for
// docs/images, else at twice that, to look at details.
const [folder = "/tmp/writ-pictures", ...wishes] = process.argv.slice(2);
const isSmall = wishes.includes("--small");
const only = wishes.find((wish) => !wish.startsWith("--"));
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
mkdirSync(folder, { recursive: true });
const stage = await setStage();
await stageAdministration(stage.hub);
const browser = await openBrowser();
const sizes = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

const shots: {
  name: string;
  path: string;
  theme: "light" | "dark";
  size: keyof typeof sizes;
  act?: (page: Page) => Promise<unknown>;
}[] = [
  { name: "jobs", path: "/jobs", theme: "light", size: "desktop", act: selectSome },
  { name: "jobs-dark", path: "/jobs", theme: "dark", size: "desktop" },
  { name: "dead-letters", path: "/jobs?state=dead", theme: "dark", size: "desktop" },
  { name: "overview-light", path: "/", theme: "light", size: "desktop" },
  { name: "overview-dark", path: "/", theme: "dark", size: "desktop" },
  { name: "fleet", path: "/fleet?open=oak-02", theme: "light", size: "desktop" },
  { name: "fleet-confirm", path: "/fleet", theme: "dark", size: "desktop", act: askToBlock },
  { name: "add-worker", path: "/fleet", theme: "light", size: "desktop", act: addWorker },
  { name: "queues", path: "/queues", theme: "light", size: "desktop" },
  { name: "queues-dark", path: "/queues", theme: "dark", size: "desktop", act: changeQuota },
  { name: "phone-queues", path: "/queues", theme: "light", size: "phone" },
  { name: "phone-settings", path: "/settings", theme: "dark", size: "phone" },
  { name: "audit", path: "/audit", theme: "light", size: "desktop", act: verifyTrail },
  { name: "audit-dark", path: "/audit?severity=MEDIUM", theme: "dark", size: "desktop", act: openRecord },
  { name: "phone-audit", path: "/audit", theme: "light", size: "phone" },
  { name: "access", path: "/access", theme: "light", size: "desktop" },
  { name: "access-dark", path: "/access", theme: "dark", size: "desktop", act: askToLockDown },
  { name: "phone-access", path: "/access", theme: "light", size: "phone" },
  { name: "settings", path: "/settings", theme: "dark", size: "desktop" },
  { name: "phone-overview", path: "/", theme: "light", size: "phone" },
  { name: "phone-fleet", path: "/fleet", theme: "dark", size: "phone" },
  { name: "submit", path: `/submit?from=${stage.jobs.dead}`, theme: "light", size: "desktop" },
  { name: "phone-submit", path: "/submit", theme: "light", size: "phone" },
  { name: "job-failed", path: `/jobs/${stage.jobs.dead}`, theme: "dark", size: "desktop", act: searchMemory },
  { name: "job-running", path: `/jobs/${stage.jobs.running}`, theme: "light", size: "desktop" },
  { name: "job-files", path: `/jobs/${stage.jobs.charts}`, theme: "light", size: "desktop" },
  { name: "no-match", path: "/jobs?type=nothing.like.it", theme: "light", size: "desktop" },
  { name: "job-waiting", path: `/jobs/${stage.jobs.waiting}`, theme: "light", size: "desktop" },
  {
    name: "palette",
    path: "/jobs",
    theme: "light",
    size: "desktop",
    act: (page) => page.keyboard.press("Control+k"),
  },
  { name: "phone-job", path: `/jobs/${stage.jobs.running}`, theme: "dark", size: "phone" },
  { name: "phone-jobs", path: "/jobs", theme: "light", size: "phone" },
];

/** Small pictures are JPEG, which is half as large as PNG. */
async function take(page: Page, name: string): Promise<void> {
  if (isSmall) await page.screenshot({ path: join(folder, `${name}.jpg`), type: "jpeg", quality: 76 });
  else await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function searchMemory(page: Page): Promise<void> {
  await page.getByLabel("Search the output").fill("memory");
}

async function askToBlock(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Block oak-02" }).click();
}

async function addWorker(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Add a worker" }).click();
}

async function changeQuota(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Change the quota of research" }).click();
  await page.getByLabel("Jobs that may wait").fill("a few");
  await page.keyboard.press("Enter");
}

async function askToLockDown(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Lock down…" }).click();
}

async function verifyTrail(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Verify now" }).click();
  await page.getByText("fit together").waitFor();
}

async function openRecord(page: Page): Promise<void> {
  await page
    .getByRole("button", { name: /^Record/ })
    .first()
    .click();
}

async function selectSome(page: Page): Promise<void> {
  for (const row of [8, 9, 10]) await page.locator(".row-window .job-row input").nth(row).click();
}

try {
  for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
    const context = await browser.newContext({
      viewport: sizes[size],
      deviceScaleFactor: isSmall ? 1 : 2,
      hasTouch: size === "phone",
      reducedMotion: "reduce",
    });
    const page = await context.newPage();
    page.on("console", (message) => console.log("page:", message.text()));
    page.on("pageerror", (error) => console.log("page error:", error.message));
    await page.route("**/healthz", (route) => route.fulfill({ json: { status: "ok", version } }));
    await page.goto(`${stage.hub.url}/`);
    if (size === "desktop") await take(page, "login");
    await signIn(page, stage.hub, stage.hub.admin);
    for (const shot of shots.filter(
      (one) => one.size === size && (only === undefined || one.name.includes(only)),
    )) {
      await page.emulateMedia({ colorScheme: shot.theme, reducedMotion: "reduce" });
      await page.goto(stage.hub.url + shot.path);
      await page.waitForTimeout(600);
      // Signatures are checked, and pictures drawn, after the page itself.
      if (shot.path.startsWith("/jobs/")) await page.waitForTimeout(2_500);
      await shot.act?.(page);
      await page.waitForTimeout(300);
      await take(page, shot.name);
    }
    await context.close();
  }
} finally {
  await browser.close();
  await stage.stop();
}
