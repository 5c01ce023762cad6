import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import type { TestHub } from "../support/hub.ts";

/** Debian's package; the tests are skipped where it is missing. */
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
export const hasBrowser = executablePath !== undefined;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executablePath!,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
  });
}

/** Signs in as a person does: with a token in the form. */
export async function signIn(page: Page, hub: Pick<TestHub, "url">, token: string): Promise<void> {
  await page.goto(`${hub.url}/`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).first().waitFor({ state: "attached" });
}
