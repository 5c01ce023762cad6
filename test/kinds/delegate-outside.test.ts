import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { WhyView } from "../../src/contract/why-view.ts";
import { obstacle } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { contentOf, delegateSettings, delegateStage, model } from "./delegate-stage.ts";

/** Agents that are programs of their own, such as an editor: they find their task in the repository. */
const stage = delegateStage();

test("an agent outside the cage finds the task in the repository, and both files are gone afterwards", async () => {
  const repo = stage.makeRepo();
  writeFileSync(join(repo, ".done"), "of an earlier job\n");
  await stage.startAgents({ roo: { taskFile: "TASK.md", completionMarker: ".done" } });
  const id = await stage.delegate(repo, { run: { mode: "in-place", prompt: "Mend it." } });
  await eventually("the task file is there", () => existsSync(join(repo, "TASK.md")));
  expect(existsSync(join(repo, ".done"))).toBe(false);
  expect(readFileSync(join(repo, "TASK.md"), "utf8")).toContain("Mend it.");
  writeFileSync(join(repo, "src/main.txt"), "mended\n");
  writeFileSync(join(repo, ".done"), "");
  const job = await stage.ended(id);
  expect(job).toMatchObject({
    status: "completed",
    isolation: { level: "none" },
    result: { mode: "in-place", changed: [{ path: "src/main.txt", change: "modified" }] },
  });
  for (const name of ["TASK.md", ".done"]) expect(existsSync(join(repo, name))).toBe(false);
});

test("an agent outside the cage that changes something else is a violation, and its work is put back", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents({ roo: {} });
  const id = await stage.delegate(repo, { run: { mode: "in-place" } });
  await eventually("the task file is there", () => existsSync(join(repo, "TASK.md")));
  writeFileSync(join(repo, "src/main.txt"), "mended\n");
  writeFileSync(join(repo, "README.md"), "not asked for\n");
  writeFileSync(join(repo, ".roo_completed"), "");
  const job = await stage.ended(id);
  expect(job).toMatchObject({
    fail_code: "SECURITY_VIOLATION",
    fail_detail: "PATH_TRAVERSAL_ATTEMPT",
    output_files: [],
  });
  expect(contentOf(repo)).toEqual(before);
});

test("O-15 a job that names no mode works as its agent can: in the repository", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ roo: { taskFile: "TASK.md", completionMarker: ".done" } });
  // The example of a job: no kind, no agent, no mode.
  const id = await stage.submitPrompt(repo, "Mend it.");
  await eventually("the task file is there", () => existsSync(join(repo, "TASK.md")));
  writeFileSync(join(repo, "src/main.txt"), "mended\n");
  writeFileSync(join(repo, ".done"), "");
  expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { mode: "in-place" } });
});

test("an agent outside the cage overwrites no other user's file, and cannot work on a copy", async () => {
  const repo = stage.makeRepo();
  writeFileSync(join(repo, "TASK.md"), "my own list\n");
  await stage.startAgents({ roo: {} });
  const taken = await stage.delegated(repo, { run: { mode: "in-place" } });
  expect(taken).toMatchObject({ status: "failed", fail_code: "INVALID_JOB" });
  expect(taken.fail_history!.at(-1)!.reason).toContain("Writ did not write it");
  expect(readFileSync(join(repo, "TASK.md"), "utf8")).toBe("my own list\n");
  const patch = await stage.delegated(repo, { run: { mode: "patch" } });
  expect(patch.fail_history!.at(-1)!.reason).toContain("the job asks for mode patch; submit it with");
});

test("the task of an agent outside the cage does not stay when it is not taken", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents({ roo: {} });
  const job = await stage.delegated(repo, { run: { mode: "in-place", idle_timeout_sec: 1 } });
  expect(job).toMatchObject({ fail_code: "TIMEOUT", fail_detail: "IDLE_TIMEOUT" });
  expect(contentOf(repo)).toEqual(before);
});

test("two jobs for the same repository are given to the program one after the other", async () => {
  const repo = stage.makeRepo();
  await stage.startAgents({ roo: { completionMarker: ".done" } });
  const task = () => (existsSync(join(repo, "TASK.md")) ? readFileSync(join(repo, "TASK.md"), "utf8") : "");
  const first = await stage.delegate(repo, { run: { mode: "in-place", prompt: "The first." } });
  await eventually("the first task is there", () => task().includes("The first."));
  const second = await stage.delegate(repo, { run: { mode: "in-place", prompt: "The second." } });
  // The worker takes them in this order, so it has come as far with the second, if it does not wait.
  const elsewhere = stage.makeRepo();
  const third = await stage.delegate(elsewhere, { run: { mode: "in-place" } });
  await eventually("the third task is there", () => existsSync(join(elsewhere, "TASK.md")));
  writeFileSync(join(elsewhere, ".done"), "");
  await stage.ended(third);
  for (const [id, text] of [
    [first, "The first."],
    [second, "The second."],
  ] as const) {
    await eventually(`the task is there: ${text}`, () => task().includes(text));
    writeFileSync(join(repo, "src/main.txt"), text);
    writeFileSync(join(repo, ".done"), "");
    const changed = [{ path: "src/main.txt", change: "modified" }];
    expect(await stage.ended(id)).toMatchObject({ status: "completed", result: { changed } });
  }
});

test.skipIf(obstacle !== null)(
  "O-15 under strict such an agent is not offered: its jobs wait, and why names it",
  async () => {
    const repo = stage.makeRepo();
    const delegate = delegateSettings({ roo: { session: "tmux:roo" } });
    const settings = { delegate, sessions: ["tmux:roo"], capabilities: [model] };
    const { workerId } = await stage.startWorker({ level: "strict", settings });
    const named = await stage.delegate(repo, { run: { agent: "roo" } });
    const unnamed = await stage.submitPrompt(repo, "Mend it.");
    for (const id of [named, unnamed]) {
      const why = (
        await stage.hub.must("GET", `/jobs/${id}/why`, { token: stage.hub.admin })
      ).json<WhyView>();
      const [judged] = why.workers.filter(({ worker_id }) => worker_id === workerId);
      expect(judged?.why).toEqual([
        "cannot run the agent roo, because it runs outside the cage, which isolation strict does not allow",
      ]);
      expect(why.summary).toContain("cannot run the agent roo");
      expect(await stage.get(id)).toMatchObject({ status: "pending", attempt: 0 });
      await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
    }
  },
);
