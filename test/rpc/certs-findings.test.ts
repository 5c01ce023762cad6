import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { examineCerts } from "../../src/cli/writ/doctor/certs-findings.ts";
import { initHomeCerts } from "../../src/hub/admin.ts";
import { type Forgery, forge, serverAuth } from "./forge-certificate.ts";

const dayMs = 86_400_000;
const nowMs = Date.now();
const inDays = (days: number) => new Date(nowMs + days * dayMs);

async function examine(env: Record<string, string> = {}, days = 0) {
  const home = folderOf();
  await initHomeCerts({ home, env: {}, osUser: "root", nowMs });
  return examineCerts({ home, env, nowMs: nowMs + days * dayMs });
}

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), "writ-doctor-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function given(life: Pick<Forgery, "notBefore" | "notAfter">, isAuthority = false) {
  const { cert, key } = await forge({ issuer: null, usages: [serverAuth], isAuthority, ...life });
  const [certPath, keyPath] = [join(folderOf(), "a.crt"), join(folderOf(), "a.key")];
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key);
  return { WRIT_TLS_CERT: certPath, WRIT_TLS_KEY: keyPath };
}

const fine = [{ check: "certs", state: "ok", says: "no certificate expires soon" }];

test("files that cannot be used are a problem, by their names", async () => {
  const pair = await given({});
  const other = await given({});
  const mixed = { ...pair, WRIT_TLS_KEY: other.WRIT_TLS_KEY };
  const cases: [Record<string, string>, RegExp][] = [
    [mixed, /a\.key is not the key of .*a\.crt/],
    [{ WRIT_TLS_CERT: pair.WRIT_TLS_CERT }, /must be set together/],
    [{ WRIT_CLIENT_CA: "/nowhere" }, /\/nowhere does not exist/],
  ];
  for (const [env, says] of cases) {
    expect(await examine(env)).toMatchObject([{ state: "problem", says: expect.stringMatching(says) }]);
  }
});

test("the home's own are named 30 days before they end", async () => {
  expect(await examine({}, 330)).toEqual(fine);
  const found = await examine({}, 340);
  expect(found.map(({ state }) => state)).toEqual(["warning", "warning"]);
  expect(found.map(({ says }) => says).join("\n")).toMatch(
    /certificate of the server expires at .*writ certs renew/,
  );
  expect((await examine({}, 400)).map(({ state }) => state)).toEqual(["problem", "problem"]);
});

test("one in WRIT_TLS_CERT is named when it should have been renewed, and not before", async () => {
  // Three months, as the usual free authorities give them: tools renew those with 30 days left.
  expect(await examine(await given({ notBefore: inDays(-60), notAfter: inDays(30) }))).toEqual(fine);
  expect(await examine(await given({ notBefore: inDays(-4), notAfter: inDays(2) }))).toEqual(fine);
  const late = await given({ notBefore: inDays(-75), notAfter: inDays(15) });
  expect(await examine(late)).toMatchObject([
    { state: "warning", says: expect.stringContaining(`${late.WRIT_TLS_CERT} (WRIT_TLS_CERT) expires at`) },
  ]);
  const over = await given({ notBefore: inDays(-90), notAfter: inDays(-1) });
  expect(await examine(over)).toMatchObject([
    { state: "problem", says: expect.stringContaining("expired at") },
  ]);
});

test("so is an authority in WRIT_CLIENT_CA", async () => {
  const { WRIT_TLS_CERT: path } = await given({ notBefore: inDays(-3000), notAfter: inDays(20) }, true);
  expect(await examine({ WRIT_CLIENT_CA: path })).toMatchObject([
    { state: "warning", says: expect.stringContaining("(WRIT_CLIENT_CA) expires at") },
  ]);
});
