import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { hubForAll } from "../support/use-hub.ts";
import { oddData } from "./odd-data.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { seriousFaults, violations } from "./visit.ts";

const touchPx = 40;
const phonePx = 390;

browserSuite("pages with long names and odd data", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);
  let pages: Record<string, string>;
  beforeAll(async () => {
    ({ pages } = await oddData(hub));
  });

  test("O-34 no page is wider than the screen, and on a phone every control is at least 40 px tall", async () => {
    const { page } = admin;
    const faults: string[] = [];
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(hub.url + path);
      await allShown(page);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1440, 1024, phonePx]) {
          await page.setViewportSize({ width, height: 900 });
          const found = [...(await overflow(page)), ...(width === phonePx ? await smallTargets(page) : [])];
          if (name === "failed" && width === phonePx) found.push(...(await seriousFaults(page)));
          faults.push(...found.map((fault) => `${name}, ${colorScheme}, ${width} px: ${fault}`));
        }
      }
    }
    expect(faults).toEqual([]);
  });

  test("O-34 a command of several lines is shown in lines, and in a row as one; an id is shown whole", async () => {
    const { page } = admin;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(hub.url + pages["running"]!);
    const command = page.locator(".job-head .command");
    await command.getByText("for page in 1 2 3").waitFor();
    // biome-ignore lint/performance/useDomNodeTextContent: lines that are drawn are the point, not those of the text.
    expect(await command.innerText()).toMatch(/^sh -c 'set -e\nfor page in 1 2 3; do\n/);
    const id = page.url().split("/").at(-1)!;
    const shown = page.locator(".facts").getByText(id);
    expect(await shown.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
    await page.locator(".terminal .bold").first().waitFor();
    expect(await page.locator(".terminal .bold").allTextContents()).toEqual(["bold", "green"]);
    expect(await page.locator(".terminal .bold.green").count()).toBe(1);
    await page.goto(`${hub.url}/jobs`);
    await page.getByText("sh -c 'set -e ↵ for page in 1 2 3; do").first().waitFor();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});

/** Resolves when no placeholder for loading data is left. */
async function allShown(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await expect.poll(() => page.locator("main .skeleton").count(), { timeout: 60_000 }).toBe(0);
}

/** By how much the page is wider than the screen, once it has been drawn at its new width. */
async function overflow(page: Page): Promise<string[]> {
  const over = (await page.evaluate(`new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      resolve(scrollWidth - clientWidth);
    })))`)) as number;
  return over > 0 ? [`${over} px too wide`] : [];
}

/** A label is pressed with its field, a row of jobs as a whole, and a link may reach further than it is drawn. */
async function smallTargets(page: Page): Promise<string[]> {
  return (await page.evaluate(`[...document.querySelectorAll("main :is(button, a[href], select, input, textarea)")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .map((element) => {
      const target = element.closest("label, [data-id], .trail-row") ?? element;
      const reach = getComputedStyle(element, "::after");
      const height = Math.max(target.getBoundingClientRect().height, reach.content === "none" ? 0 : parseFloat(reach.height) || 0);
      return { height, name: (element.getAttribute("aria-label") ?? element.textContent).slice(0, 40), tag: element.className };
    })
    .filter(({ height }) => height > 0 && height < ${touchPx - 0.5})
    .map(({ height, name, tag }) => tag + " “" + name + "” " + height + " px")`)) as string[];
}
