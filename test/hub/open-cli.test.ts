import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll, tokensOf } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);
const tokens = tokensOf(hub);

const open = (args: string[], env: Record<string, string> = {}, isTTY = false) =>
  runCli("writ", ["open", ...args], { env: { WRIT_HOME: hub.home, ...env }, isTTY });

async function whoEnters(url: string): Promise<unknown> {
  const code = new URL(url).hash.replace("#login=", "");
  return (await hub.must("POST", "/session", { body: { code } })).json();
}

test("writ open prints a link that logs in the person who runs it", async () => {
  const operator = await open([]);
  expect(operator).toMatchObject({ code: 0, stderr: "It works once, within 60 seconds.\n" });
  const url = operator.stdout.trimEnd();
  expect(url).toMatch(new RegExp(`^${hub.url}/#login=[\\w-]{43}$`));
  expect(await whoEnters(url)).toMatchObject({ role: "admin", tenant_id: null });

  const alice = await open(["--json"], { WRIT_TOKEN: tokens.alice });
  const link = JSON.parse(alice.stdout) as { url: string; expires_in_sec: number };
  expect(link.expires_in_sec).toBe(60);
  expect(await whoEnters(link.url)).toMatchObject({ role: "user", user_id: "alice" });
});

test("on a desktop the browser gets a private file, so that the link is in no command line", async () => {
  const { stdout, stderr } = await open([], { DISPLAY: ":99", PATH: "/nowhere" }, true);
  expect(stderr).toContain("If no browser appears");
  const page = join(hub.home, "open.html");
  expect(statSync(page).mode & 0o777).toBe(0o600);
  expect(readFileSync(page, "utf8")).toContain(stdout.trimEnd());
});

test("a certificate cannot open a session, and the refusal says which token can", async () => {
  const { code, stderr } = await open([], { WRIT_USER: "root" });
  expect(code).toBe(5);
  expect(stderr).toContain("log in with a token of its own");
});
