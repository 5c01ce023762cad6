import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { runCli } from "../support/run-cli.ts";
import { delegateStage, model } from "./delegate-stage.ts";

const stage = delegateStage();

/** Changes a line and answers; what it is told, it leaves beside. */
const first = `sed -i s/two/2/ src/main.txt; echo '"I have changed two."' > "$JOB_RESULT_FILE"`;
const second =
  'cat "$JOB_TASK_FILE"; cat src/main.txt; sed -i s/three/3/ src/main.txt; echo new > src/new.txt';

function jobctl(repo: string, ...args: string[]) {
  const env = { WRIT_HOME: stage.hub.home, PATH: process.env["PATH"] ?? "" };
  return runCli("jobctl", args, { env, cwd: repo });
}

/** An agent whose first job makes one change, and every later one another. */
async function answered(): Promise<{ repo: string; job: JobView }> {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: `if grep -q two src/main.txt; then ${first}; else ${second}; fi` });
  const job = await stage.delegated(repo, { run: { prompt: "Change two." } });
  expect(job).toMatchObject({ status: "completed" });
  return { repo, job };
}

/** What a job that begins with the diff of another one names. */
function beginningWith({ output_files }: JobView) {
  const { folder_id, object_key, sha256 } = output_files.find(({ object_key: key }) =>
    key.endsWith("/changes.diff"),
  )!;
  return {
    inputs: [{ path: "d", folder_id, object_key, sha256: sha256!.replace("sha256:", "") }],
    apply: "d",
  };
}

test("a diff to begin with has to be an input, and is not put into a repository itself", async () => {
  const body = (run: object) => ({
    token: stage.hub.admin,
    body: {
      type: "delegate",
      ...model,
      repo_root: "/srv/x",
      allowed_paths: ["src"],
      run: { kind: "delegate", agent: "a", prompt: "p", ...run },
    },
  });
  const missing = await stage.hub.call("POST", "/jobs", body({ apply: "d" }));
  expect(missing).toMatchObject({ status: 400 });
  expect(missing.text).toContain("must be the path of a file in run.inputs");
  const inputs = [{ path: "d", folder_id: "jobs", object_key: "k", sha256: "0".repeat(64) }];
  const inPlace = await stage.hub.call("POST", "/jobs", body({ apply: "d", inputs, mode: "in-place" }));
  expect(inPlace.text).toContain("is not possible in place");
});

test("a reply begins with the earlier diff and tells the agent the earlier task and answer", async () => {
  const { repo, job } = await answered();
  const replied = await jobctl(repo, "reply", job.id, "Now change three.", "--detach");
  expect(replied.code).toBe(0);
  expect(replied.stderr).toContain("the agent starts a new session, with the earlier task and answer");
  const newest = await stage.ended(replied.stdout.trim());
  expect(newest).toMatchObject({ status: "completed", metadata: { reply_to: job.id } });
  const shown = await stage.output(newest.id);
  for (const told of ["Now change three.", "Change two.", "I have changed two.", "one\n2\nthree\n"])
    expect(shown).toContain(told);
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\ntwo\nthree\n");
  const diff = await jobctl(repo, "diff", newest.id);
  for (const line of ["-two", "+2", "-three", "+3", "+new"]) expect(diff.stdout).toContain(`\n${line}\n`);
  await jobctl(repo, "apply", newest.id, "--yes");
  expect(readFileSync(join(repo, "src/main.txt"), "utf8")).toBe("one\n2\n3\n");
});

test("a reply whose files have changed since ends with 1, and no job is made", async () => {
  const { repo, job } = await answered();
  writeFileSync(join(repo, "src/main.txt"), "something else\n");
  const replied = await jobctl(repo, "reply", job.id, "Go on.");
  expect(replied.code).toBe(1);
  expect(replied.stderr).toContain("does not fit the files");
  const forced = await stage.delegated(repo, { run: beginningWith(job) });
  expect(forced).toMatchObject({ status: "failed", fail_code: "INVALID_JOB" });
  expect(forced.fail_history[0]?.reason).toContain("does not fit the repository as it is now");
});

test("a diff changes only what its new job may change", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: "echo more >> docs/guide.md" });
  const job = await stage.delegated(repo, { allowed: ["docs"] });
  const narrower = await stage.delegated(repo, { allowed: ["src"], run: beginningWith(job) });
  expect(narrower).toMatchObject({ status: "failed", fail_code: "INVALID_JOB" });
  expect(readFileSync(join(repo, "docs/guide.md"), "utf8")).toBe("guide\n");
});

test("only a job that has ended, and has worked on a copy, gets a reply", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ scribe: "echo in place > src/main.txt" });
  const inPlace = await stage.delegated(repo, { run: { mode: "in-place" } });
  const refused = await jobctl(repo, "reply", inPlace.id, "Go on.");
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("has worked in the repository itself");
  const waiting = await stage.delegate(repo, { more: { requires: { tags: ["nowhere"] } } });
  expect((await jobctl(repo, "reply", waiting, "Go on.")).stderr).toContain("is pending");
  await stage.hub.must("DELETE", `/jobs/${waiting}`, { token: stage.hub.admin });
});
