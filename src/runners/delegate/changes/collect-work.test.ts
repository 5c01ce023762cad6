import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { StopReason } from "../../runner.ts";
import { openPrivate } from "../repository/open-workspace.ts";
import { collectWork } from "./collect-work.ts";

/** An agent that has ended well and left a file, and whose job was stopped just after that. */
async function collectAfter(reason: StopReason) {
  const attemptDir = mkdtempSync(join(tmpdir(), "writ-collect-"));
  onTestFinished(() => rmSync(attemptDir, { recursive: true, force: true }));
  const workDir = join(attemptDir, "work");
  mkdirSync(workDir);
  const workspace = await openPrivate({ attemptDir, workDir, inside: workDir, hasJail: false });
  writeFileSync(join(workspace.dir, "made.txt"), "work\n");
  const context = { attemptDir, signal: AbortSignal.abort(reason), lease: { timeout_sec: 60 } };
  const outcome = { kind: "succeeded", resultJson: "null", exitCode: 0 } as const;
  const work = { delegation: {}, workspace, outcome };
  return collectWork({} as never, context as never, work as never);
}

test("a job that was stopped before its work could be kept does not complete without its files", async () => {
  expect(await collectAfter("drain")).toMatchObject({ kind: "released" });
  expect(await collectAfter("lost")).toMatchObject({ kind: "released" });
  expect(await collectAfter("cancelled")).toMatchObject({ kind: "failed", code: "CANCELLED" });
  expect(await collectAfter("timeout")).toMatchObject({ kind: "failed", code: "TIMEOUT" });
});
