import type { Page } from "playwright-core";
import type { Stage } from "./stage.ts";

export const sizes = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

export type Shot = {
  name: string;
  path: string;
  theme: "light" | "dark";
  size: keyof typeof sizes;
  act?: (page: Page) => Promise<unknown>;
};

/** Every page while nothing happens, so that it can be read. */
export function quietShots({ running, dead, waiting, charts }: Stage["jobs"]): Shot[] {
  return [
    { name: "audit", path: "/audit", theme: "light", size: "desktop", act: verifyTrail },
    { name: "audit-dark", path: "/audit?severity=MEDIUM", theme: "dark", size: "desktop", act: openRecord },
    { name: "jobs", path: "/jobs", theme: "light", size: "desktop", act: selectSome },
    { name: "jobs-dark", path: "/jobs", theme: "dark", size: "desktop" },
    { name: "dead-letters", path: "/jobs?state=dead", theme: "dark", size: "desktop" },
    { name: "fleet", path: "/fleet?open=oak-02", theme: "light", size: "desktop" },
    { name: "fleet-confirm", path: "/fleet", theme: "dark", size: "desktop", act: askToBlock },
    { name: "add-worker", path: "/fleet", theme: "light", size: "desktop", act: addWorker },
    { name: "queues", path: "/queues", theme: "light", size: "desktop" },
    { name: "queues-dark", path: "/queues", theme: "dark", size: "desktop", act: changeQuota },
    { name: "access", path: "/access", theme: "light", size: "desktop" },
    { name: "access-dark", path: "/access", theme: "dark", size: "desktop", act: askToLockDown },
    { name: "settings", path: "/settings", theme: "dark", size: "desktop" },
    { name: "submit", path: `/submit?from=${dead}`, theme: "light", size: "desktop" },
    { name: "job-failed", path: `/jobs/${dead}`, theme: "dark", size: "desktop", act: searchMemory },
    { name: "job-running", path: `/jobs/${running}`, theme: "light", size: "desktop", act: waitForRates },
    { name: "job-files", path: `/jobs/${charts}`, theme: "light", size: "desktop" },
    { name: "job-waiting", path: `/jobs/${waiting}`, theme: "light", size: "desktop" },
    { name: "no-match", path: "/jobs?type=nothing.like.it", theme: "light", size: "desktop" },
    { name: "palette", path: "/jobs", theme: "light", size: "desktop", act: openPalette },
    { name: "phone-jobs", path: "/jobs", theme: "light", size: "phone" },
    { name: "phone-job", path: `/jobs/${running}`, theme: "dark", size: "phone" },
    { name: "phone-queues", path: "/queues", theme: "light", size: "phone" },
    { name: "phone-settings", path: "/settings", theme: "dark", size: "phone" },
    { name: "phone-audit", path: "/audit", theme: "light", size: "phone" },
    { name: "phone-access", path: "/access", theme: "light", size: "phone" },
    { name: "phone-fleet", path: "/fleet", theme: "dark", size: "phone" },
    { name: "phone-submit", path: "/submit", theme: "light", size: "phone" },
  ];
}

/** While jobs come and go. */
export const busyShots: Shot[] = [
  { name: "overview-light", path: "/", theme: "light", size: "desktop", act: pointAtRush },
  { name: "overview-dark", path: "/", theme: "dark", size: "desktop", act: waitForRate },
  {
    name: "overview-tenant",
    path: "/?tenant=storefront",
    theme: "light",
    size: "desktop",
    act: waitForRate,
  },
  { name: "phone-overview", path: "/", theme: "light", size: "phone" },
];

export const lockedShots: Shot[] = [
  { name: "lockdown", path: "/", theme: "light", size: "desktop" },
  { name: "lockdown-dark", path: "/jobs", theme: "dark", size: "desktop" },
  { name: "phone-lockdown", path: "/", theme: "light", size: "phone" },
];

export const emptyShots: Shot[] = [
  { name: "empty", path: "/jobs", theme: "light", size: "desktop" },
  { name: "empty-overview", path: "/", theme: "dark", size: "desktop" },
  { name: "phone-empty", path: "/", theme: "light", size: "phone" },
];

async function searchMemory(page: Page): Promise<void> {
  await page.getByLabel("Search the output").fill("memory");
}

/** How fast it reads and writes is known after its second report. */
async function waitForRates(page: Page): Promise<void> {
  await page.getByText("MiB/s").waitFor();
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
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
  for (const row of [4, 6, 7]) await page.locator(".row-window .job-row input").nth(row).click();
}

/** The events of a second are an average of the last five. */
async function waitForRate(page: Page): Promise<void> {
  await page.waitForTimeout(5_000);
}

async function pointAtRush(page: Page): Promise<void> {
  await waitForRate(page);
  const box = await page.locator(".chart").boundingBox();
  if (box !== null) await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2);
}
