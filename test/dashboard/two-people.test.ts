import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { violations, visit } from "./visit.ts";

browserSuite("two people in one browser", () => {
  const hub = hubForAll(stillEnv);
  const tokens = tokensOf(hub);
  const admin = adminForAll(hub);

  const linkFor = async (token: string) => {
    const { code } = (await hub.must("POST", "/session/code", { token })).json<{ code: string }>();
    return `${hub.url}/#login=${code}`;
  };
  const person = (page: Page) => page.locator(".person .cut").first();
  const band = (page: Page) => page.getByRole("alert").filter({ hasText: "This tab is now signed in as" });

  test("O-08 a sign-in in another tab ends the session, and each tab names its new person", async () => {
    const alice = await visit(admin.browser);
    await signIn(alice.page, hub, tokens.alice);
    await alice.page.goto(`${hub.url}/jobs`);
    const secret = await submitJob(hub, { token: tokens.alice, type: freshName("secret") });
    await alice.page.locator(`[data-id="${secret.id}"]`).waitFor();
    const [cookie] = await alice.context.cookies();

    const eve = await visit(admin.browser, alice.context);
    await eve.page.goto(await linkFor(tokens.eve));
    await person(eve.page).getByText("eve").waitFor();

    await band(alice.page).getByText("eve (tenant globex)").waitFor();
    await band(alice.page).getByText("session of alice").waitFor();
    await person(alice.page).getByText("eve").waitFor();
    expect(await band(eve.page).count()).toBe(0);
    const headers = { Cookie: `${cookie!.name}=${cookie!.value}` };
    expect((await hub.call("GET", "/session", { headers })).status).toBe(401);

    const own = await submitJob(hub, { token: tokens.eve, type: freshName("own") });
    const foreign = await submitJob(hub, { token: tokens.alice, type: freshName("secret") });
    const after = await submitJob(hub, { token: tokens.eve, type: freshName("own") });
    await eve.page.goto(`${hub.url}/jobs`);
    for (const { page } of [alice, eve]) {
      // Events arrive in their order, so what came before this one is not on its way any more.
      for (const { id } of [own, after]) await page.locator(`[data-id="${id}"]`).waitFor();
      for (const { id } of [secret, foreign]) expect(await page.locator(`[data-id="${id}"]`).count()).toBe(0);
    }
    await band(alice.page).getByRole("button", { name: "Understood" }).click();
    await alice.page.reload();
    await person(alice.page).getByText("eve").waitFor();
    expect(await band(alice.page).count()).toBe(0);
    await alice.context.close();
  });

  test("the person who replaced a session sees its name, and a person who signs in later does not", async () => {
    const alice = await visit(admin.browser);
    await signIn(alice.page, hub, tokens.alice);
    const eve = await visit(admin.browser, alice.context);
    await eve.page.goto(await linkFor(tokens.eve));
    await band(alice.page).getByText("session of alice").waitFor();
    // The band is still shown when Eve leaves and another person signs in.
    await alice.page.getByRole("button", { name: "Sign out" }).click();
    await signIn(alice.page, hub, hub.admin);
    await alice.page.reload();
    await person(alice.page).getByText("root").waitFor();
    expect(await band(alice.page).count()).toBe(0);

    await eve.page.goto(await linkFor(tokens.eve));
    await band(alice.page).getByText("session of root").waitFor();
    await alice.page.goto(await linkFor(tokens.alice));
    await person(alice.page).getByText("alice").waitFor();
    expect(await band(alice.page).count()).toBe(0);
    await alice.context.close();
  });

  test("O-08 a tab that receives no storage event learns of the sign-in from its next call", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, tokens.alice);
    await person(page).getByText("alice").waitFor();
    const answer = await hub.must("POST", "/session", { body: { token: tokens.eve } });
    const [, name, value] = /^(\w+)=([^;]+)/.exec(answer.headers["set-cookie"]![0]!)!;
    await context.addCookies([
      { name: name!, value: value!, url: hub.url, httpOnly: true, sameSite: "Strict" },
    ]);
    await band(page).getByText("session of alice").waitFor();
    await person(page).getByText("eve").waitFor();
    await context.close();
  });

  test("O-08 the same person who signs in again keeps what a tab shows", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, tokens.alice);
    await page.goto(`${hub.url}/submit`);
    await page.getByRole("textbox", { name: "Type required" }).fill("half written");
    const again = await visit(admin.browser, context);
    await again.page.goto(await linkFor(tokens.alice));
    await person(again.page).getByText("alice").waitFor();
    await page.bringToFront();
    const { id } = await submitJob(hub, { token: tokens.alice });
    expect(await page.getByRole("textbox", { name: "Type required" }).inputValue()).toBe("half written");
    expect(await band(page).count()).toBe(0);
    await page.getByRole("navigation", { name: "Main", exact: true }).getByText("Jobs").click();
    await page.locator(`[data-id="${id}"]`).waitFor();
    const live = await submitJob(hub, { token: tokens.alice });
    await page.locator(`[data-id="${live.id}"]`).waitFor();
    await context.close();
  });

  test("O-08 a link for another person works in a tab that already shows the page", async () => {
    const { page, context } = await visit(admin.browser);
    await signIn(page, hub, tokens.alice);
    await page.goto(`${hub.url}/`);
    await page.goto(await linkFor(tokens.eve));
    await person(page).getByText("eve").waitFor();
    expect(await band(page).count()).toBe(0);
    await context.close();
  });

  test("nothing that the page did was against its policy", () => {
    expect(violations).toEqual([]);
  });
});
