import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, Page } from "playwright-core";

export type Visitor = { context: BrowserContext; page: Page };

/** What the browser reported against the page's policy, and errors in the page, from all tests of a file. */
export const violations: string[] = [];

/** Opens a page of its own, or another tab of a visitor who is known. */
export async function visit(browser: Browser, known?: BrowserContext): Promise<Visitor> {
  const context = known ?? (await browser.newContext({ viewport: { width: 1280, height: 900 } }));
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await collectViolations(page);
  page.on("pageerror", (error) => violations.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) violations.push(message.text());
  });
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (hostname !== "127.0.0.1" && !request.url().startsWith("data:"))
      violations.push(`called ${request.url()}`);
  });
  return { context, page };
}

/** What the browser would report to a collector, from before the first script of each document on. */
async function collectViolations(page: Page): Promise<void> {
  await page.exposeBinding("reportViolation", (_, report: string) => violations.push(report));
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", (event) =>
      reportViolation(event.violatedDirective + " refused " + event.blockedURI + " at " + document.URL))`,
  );
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

type AxeResult = { violations: { id: string; impact: string; nodes: { html: string }[] }[] };

/** What axe-core finds serious on the page as it is, one line for each rule. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResult;
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
