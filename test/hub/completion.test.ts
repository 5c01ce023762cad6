import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, failedJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

async function complete(program: "writ" | "jobctl", ...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCli(program, ["__complete", ...words], {
    env: { WRIT_HOME: hub.home },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

/** The same where only the hub knows the answer, which counts as none if it comes after two seconds. */
async function fromHub(program: "writ" | "jobctl", ...words: string[]): Promise<string[]> {
  let found: string[] = [];
  await eventually("the hub has answered in time", async () => {
    found = await complete(program, ...words);
    return found.length > 0;
  });
  return found;
}

test("C7: commands, options and the values of options are completed", async () => {
  expect(await complete("jobctl", "st")).toEqual(["start", "stream", "status", "stop"]);
  expect(await complete("jobctl", "list", "--st")).toEqual(["--state"]);
  expect(await complete("jobctl", "list", "--state", "")).toEqual([
    "queued",
    "running",
    "exited",
    "stopped",
    "failed",
  ]);
  expect(await complete("jobctl", "submit", "--prio")).toEqual(["--priority"]);
  expect(await complete("jobctl", "start", "--mem")).toEqual(["--mem", "--memory"]);
  expect(await complete("writ", "workers", "un")).toEqual(["undrain", "unblock"]);
  expect(await complete("writ", "tokens", "issue", "--role", "")).toContain("worker");
});

test("C7: the words of a job's own command are left to the shell", async () => {
  expect(await complete("jobctl", "run", "ls", "")).toEqual([]);
  expect(await complete("jobctl", "run", "--", "")).toEqual([]);
});

test("C7: ids, types, workers and tokens come from the hub, as far as the command can use them", async () => {
  const type = freshName("complete");
  const failed = await failedJob(hub, { type });
  const done = await completedJob(hub, { type });
  const waiting = await submitJob(hub, { type });
  const worker = await registerWorker(hub);
  const end = ({ id }: { id: string }) => id.slice(-8);

  expect(await fromHub("jobctl", "status", "")).toEqual(
    expect.arrayContaining([failed, done, waiting].map(end)),
  );
  expect(await fromHub("jobctl", "retry", "")).toEqual([end(failed)]);
  expect(await fromHub("jobctl", "result", "")).toEqual([end(done)]);
  expect(await fromHub("jobctl", "stop", end(waiting).slice(0, 3))).toEqual([end(waiting)]);
  expect(await fromHub("jobctl", "stream", waiting.id.slice(0, 35))).toContain(waiting.id);
  expect(await fromHub("jobctl", "list", "--type", "comp")).toEqual([type]);
  expect(await fromHub("jobctl", "list", "--worker", worker.slice(0, 4))).toContain(worker);
  expect(await fromHub("writ", "workers", "drain", "")).toContain(worker);
  expect(await fromHub("writ", "queues", "pause", "comp")).toEqual([type]);
  expect((await fromHub("writ", "tokens", "revoke", "")).length).toBeGreaterThan(0);
});

test("O-26: the newest ids are offered, and an older id is completed from its beginning", async () => {
  const old = await submitJob(hub, { type: freshName("old") });
  const jobs = Array.from({ length: 60 }, () => ({ type: freshName("newer") }));
  await hub.must("POST", "/jobs/batch", { token: hub.admin, body: { jobs } });
  const offered = await fromHub("jobctl", "status", "");
  expect(offered).toHaveLength(50);
  expect(offered).not.toContain(old.id.slice(-8));
  expect(await fromHub("jobctl", "status", old.id.slice(0, 30))).toEqual([old.id]);
});

test("C7: without a hub there is nothing to complete, and no error", async () => {
  const { code, stdout, stderr } = await runCli("jobctl", ["__complete", "status", ""], {
    env: { WRIT_HOME: "/nonexistent" },
  });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
});

test.each(["jobctl", "writ"] as const)(
  "C7: the script of %s for bash completes at a prompt",
  async (program) => {
    const folder = mkdtempSync(join(tmpdir(), "writ-complete-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { stdout: script } = await runCli(program, ["completion", "bash"], { env: {} });
    const file = join(import.meta.dirname, `../../src/cli/${program}.ts`);
    writeFileSync(join(folder, program), `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(join(folder, "script"), script);
    const ask = `. ./script; COMP_WORDS=(./${program} compl); COMP_CWORD=1; _${program}; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)("bash", ["-c", ask], { cwd: folder });
    expect(stdout).toBe("completion\n");
  },
);

test.each(["zsh", "fish"])("C7: the script for %s asks the program that was typed", async (shell) => {
  for (const program of ["jobctl", "writ"] as const) {
    const { stdout } = await runCli(program, ["completion", shell], { env: {} });
    expect(stdout).toMatch(/words\[1\]\}?"? __complete /);
  }
});
