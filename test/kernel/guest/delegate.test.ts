import assert from "node:assert/strict";
import { chownSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { AttemptSecrets } from "../../../src/runners/attempt-secrets.ts";
import { delegateRunner } from "../../../src/runners/delegate/delegate-runner.ts";
import type { DelegateSettings } from "../../../src/runners/delegate/delegate-settings.ts";
import type { RunContext, RunOutcome } from "../../../src/runners/runner.ts";
import { systemClock } from "../../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../../src/runtime/log/logger.ts";
import { CagedSandbox } from "../../../src/sandbox/caged-sandbox.ts";
import { builtLauncherFile } from "../../../src/sandbox/launcher/launcher.ts";
import { lacks } from "../capabilities.ts";
import { makeScratchFolder } from "../scratch-disk.ts";

/** Coding agents on a kernel of its own, strictly caged, in the repository of somebody else. */
const cage = existsSync(builtLauncherFile) ? false : "not capable: the launcher was not built";
const skip = cage || lacks("idmapped mounts", "cgroup.kill");
const owner = { uid: 1234, gid: 2345 };

type Delegated = { outcome: RunOutcome; repo: string; attemptDir: string; remove(): void };

/** Lets a shell script work in a fresh repository, where it may change src, and new, which does not exist. */
async function delegated(script: string, mode: "patch" | "in-place"): Promise<Delegated> {
  const folder = makeScratchFolder();
  const repo = join(folder.path, "repo");
  const attemptDir = join(folder.path, "jobs/job/1");
  const workDir = join(attemptDir, "work");
  mkdirSync(workDir, { recursive: true });
  const files = { "README.md": "read me\n", "src/main.txt": "one\n", ".git/config": "[core]\n" };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(repo, path)), { recursive: true });
    writeFileSync(join(repo, path), text, { mode: path === "README.md" ? 0o644 : 0o600 });
  }
  for (const path of ["", "src", ".git", ...Object.keys(files)])
    chownSync(join(repo, path), owner.uid, owner.gid);
  writeFileSync(join(folder.path, "secret"), "secret\n");

  const sandbox = await CagedSandbox.open({
    workDir: folder.path,
    clock: systemClock,
    logger: silentLogger,
    pid: process.pid,
    uid: 0,
    mayMove: false,
    level: "best-effort",
  });
  const delegate: DelegateSettings = {
    agents: [{ name: "scribe", command: ["/bin/sh", "-c", script], envFromWorker: [] }],
    capabilities: [{ provider: "OLLAMA", model: "m", timeoutMs: 1000 }],
    allowedPathPrefixes: ["src", "new"],
    forbiddenPaths: ["/etc"],
    maxFileBytes: 10_000,
    maxTotalBytes: 100_000,
    workerEnv: {},
  };
  const settings = {
    stopGraceMs: 1000,
    outputBytesMax: 100_000,
    limits: {},
    maxLimits: {},
    handlers: {},
    secrets: {},
  };
  const never = new AbortController().signal;
  const document = {
    job_id: "0190aaaa-0000-7000-8000-000000000000",
    tenant_id: "default",
    type: "delegate",
    provider: "OLLAMA",
    model: "m",
    run: { kind: "delegate", agent: "default", prompt: "p", mode, idle_timeout_sec: 0 },
    repo_root: repo,
    allowed_paths: ["src", "new"],
  };
  const context = {
    document,
    lease: { job_id: document.job_id, attempt: 1, timeout_sec: 300 },
    attemptDir,
    workDir,
    signal: never,
    hurry: never,
    onStarted: async () => {},
    onProcess: () => {},
    secrets: new AttemptSecrets(),
  } as unknown as RunContext;
  const runner = delegateRunner({ settings, sandbox, clock: systemClock, logger: silentLogger }, delegate);
  try {
    return { outcome: await runner.run(context), repo, attemptDir, remove: folder.remove };
  } finally {
    await sandbox.close();
  }
}

test("an agent in place writes as the owner of the repository, and only where it may", { skip }, async () => {
  const script =
    "echo two >> src/main.txt; echo x > new/file; echo x > README.md; echo x > .git/config; cat README.md";
  const { outcome, repo, remove } = await delegated(script, "in-place");
  assert.equal(outcome.kind, "succeeded", JSON.stringify(outcome));
  assert.equal(readFileSync(join(repo, "src/main.txt"), "utf8"), "one\ntwo\n");
  for (const path of ["src/main.txt", "new", "new/file"]) {
    const { uid, gid } = statSync(join(repo, path));
    assert.deepEqual({ path, uid, gid }, { path, ...owner });
  }
  assert.equal(readFileSync(join(repo, "README.md"), "utf8"), "read me\n");
  assert.equal(readFileSync(join(repo, ".git/config"), "utf8"), "[core]\n");
  remove();
});

test("an agent on a copy reads what only the owner may read where it may change it, and changes nothing", {
  skip,
}, async () => {
  const { outcome, repo, attemptDir, remove } = await delegated(
    "cat .git/config README.md >> src/main.txt; echo x > new/file",
    "patch",
  );
  assert.equal(outcome.kind, "succeeded", JSON.stringify(outcome));
  assert.equal(readFileSync(join(repo, "src/main.txt"), "utf8"), "one\n");
  assert.equal(existsSync(join(repo, "new")), false);
  const diff = readFileSync(join(attemptDir, "changes/changes.diff"), "utf8");
  assert.match(diff, /^ one\n\+read me$/m);
  remove();
});

test("a hostile agent in place changes nothing outside, ends as a violation, and is put back (P-04)", {
  skip,
}, async () => {
  const script = `echo evil > src/main.txt; ln -s ../../secret src/link; echo evil > src/link; chmod u+s src/main.txt
    ln README.md src/hard; mknod src/null c 1 3; mkdir -p src/.git/hooks; echo evil > src/.git/hooks/pre-commit; true`;
  const { outcome, repo, remove } = await delegated(script, "in-place");
  assert.equal(
    outcome.kind === "failed" && outcome.detail,
    "PATH_TRAVERSAL_ATTEMPT",
    JSON.stringify(outcome),
  );
  assert.equal(readFileSync(join(repo, "../secret"), "utf8"), "secret\n");
  assert.equal(readFileSync(join(repo, "src/main.txt"), "utf8"), "one\n");
  assert.equal(lstatSync(join(repo, "src/main.txt")).mode & 0o7000, 0);
  for (const path of ["src/link", "src/hard", "src/null", "src/.git"])
    assert.equal(lstatSync(join(repo, path), { throwIfNoEntry: false }), undefined, path);
  remove();
});
