import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import type { TestHub } from "../support/hub.ts";
import { hasBrowser, openBrowser, signIn } from "./browser.ts";
import { type Visitor, visit } from "./visit.ts";

/** Tests in a real browser. Where there is none they are skipped, and say why. */
export function browserSuite(name: string, tests: () => void): void {
  if (hasBrowser) describe(name, tests);
  else describe.skip(`${name} (not capable: no chromium)`, tests);
}

/** An administrator who has signed in before the first test of a suite, and the browser for other visitors. */
export function adminForAll(hub: TestHub): Visitor & { browser: Browser } {
  const admin = {} as Visitor & { browser: Browser };
  beforeAll(async () => {
    admin.browser = await openBrowser();
    Object.assign(admin, await visit(admin.browser));
    await signIn(admin.page, hub, hub.admin);
  });
  afterAll(async () => {
    await admin.browser?.close();
  });
  return admin;
}
