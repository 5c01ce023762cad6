import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobDocument } from "../contract/document.ts";
import { systemClock } from "../runtime/clock/clock.ts";
import { silentLogger } from "../runtime/log/logger.ts";
import { plainSandbox } from "../sandbox/plain/plain-sandbox.ts";
import { AttemptSecrets } from "./attempt-secrets.ts";
import { runProcess } from "./run-process.ts";
import type { RunContext } from "./runner.ts";

test("a worker without a cage releases a job with mounts of its own before it is announced", async () => {
  const attemptDir = mkdtempSync(join(tmpdir(), "writ-process-"));
  const settings = {
    stopGraceMs: 200,
    outputBytesMax: 1000,
    limits: {},
    maxLimits: {},
    handlers: {},
    secrets: {},
  };
  const context = {
    document: { type: "exec", tenant_id: "default" } as JobDocument,
    lease: { job_id: "j", attempt: 1, timeout_sec: 60 } as RunContext["lease"],
    attemptDir,
    workDir: join(attemptDir, "work"),
    signal: new AbortController().signal,
    hurry: new AbortController().signal,
    secrets: new AttemptSecrets(),
    onStarted: () => Promise.reject(new Error("it was announced")),
  } as unknown as RunContext;
  const mounts = [{ source: "/srv", target: "/srv", access: "read-only" as const }];
  const deps = { settings, sandbox: plainSandbox, clock: systemClock, logger: silentLogger };
  expect(await runProcess(deps, context, { argv: ["true"], input: null, mounts })).toEqual({
    kind: "released",
    reason: expect.stringContaining("the job's mounts cannot be made"),
    isHostDown: false,
  });
  rmSync(attemptDir, { recursive: true });
});
