import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sendJson, startTinyHub } from "../../src/client/testing/tiny-hub.ts";
import { stillEnv } from "../support/hub.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const isRoot = process.getuid?.() === 0;
const hub = hubForAll(stillEnv);

type Found = { check: string; state: string; says: string };

async function doctor(...flags: string[]): Promise<{ code: number; found: Found[] }> {
  const { code, stdout } = await runCli("writ", ["doctor", "--json", ...flags], { env: {} });
  const lines = stdout.trim().split("\n");
  return { code, found: lines.map((line) => JSON.parse(line) as Found) };
}

test("doctor reports a hub that answers, but whose database cannot be written", async () => {
  // A hub is unwell only after a commit has failed, and what still fits on a full disk is chance. So the answer about health
  // is given in front of a hub that is well.
  const reason = "the disk of the database is full; nothing was changed";
  const front = await startTinyHub(async ({ method, path }, response) => {
    if (path.endsWith("/healthz"))
      return sendJson(response, 503, { status: "store unavailable", code: "STORE_UNAVAILABLE", reason });
    const { status, text } = await hub.call(method, path, { token: hub.admin });
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  });
  onTestFinished(() => front[Symbol.asyncDispose]());
  const { code, found } = await doctor("--home", hub.home, "--hub", front.url);
  expect(code).toBe(1);
  expect(found.filter(({ check }) => check === "database")).toEqual([
    { check: "database", state: "problem", says: reason },
  ]);
  for (const check of ["hub", "keys", "files"])
    expect(found).toContainEqual(expect.objectContaining({ check, state: "ok" }));
});

test.skipIf(!isRoot)(
  `doctor reports a home whose disk is full${isRoot ? "" : " (not capable: not root)"}`,
  async () => {
    const home = mkdtempSync(join(tmpdir(), "writ-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m,mode=700", "writ-test", home]);
    onTestFinished(() => {
      execFileSync("umount", ["-l", home]);
      rmSync(home, { recursive: true });
    });
    const { code, found } = await doctor("--home", home, "--hub", hub.url, "--token", hub.admin);
    expect(code).toBe(1);
    expect(found).toContainEqual({
      check: "disk",
      state: "problem",
      says: `the disk of ${home} is full (3.0 MiB free); make room, or the hub cannot accept or finish jobs`,
    });
  },
);
