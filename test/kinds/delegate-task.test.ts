import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { contentOf, delegateStage, giveTree } from "./delegate-stage.ts";

/** How an agent gets its task. */
const stage = delegateStage();

const inWorkspace = "cat .writ-task/TASK.md; echo more > src/more.txt";

test("O-15 on a copy the task is inside the workspace, and never part of the diff", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents({
    scribe: { command: ["sh", "-c", `${inWorkspace}; echo "$1 $JOB_TASK_FILE"`, "sh", "{task_file}"] },
  });
  const job = await stage.delegated(repo, { run: { prompt: "Mend it." } });
  expect(job).toMatchObject({ status: "completed", result: { workspace: "copy" } });
  expect(job.result).toMatchObject({ changed: [{ path: "src/more.txt", change: "added" }] });
  const output = await stage.output(job.id);
  expect(output).toContain("Mend it.");
  // Where it starts depends on whether there is a cage; what the command and the variable say is the same.
  expect(output).toMatch(/^(\S+\/\.writ-task\/TASK\.md) \1$/m);
  expect(contentOf(repo)).toEqual(before);
});

test("O-15 a worker whose files are closed to others shows its agent the repository and the task", async () => {
  const repo = stage.makeRepo();
  const umask = process.umask(0o077);
  onTestFinished(() => void process.umask(umask));
  await stage.startAgents({ scribe: inWorkspace });
  const job = await stage.delegated(repo, { allowed: ["src", "new/deep"], run: { prompt: "Mend it." } });
  expect(job).toMatchObject({ status: "completed" });
  expect(await stage.output(job.id)).toContain("Mend it.");
});

test("O-15 a directory of the same name in the repository is covered, and stays as it is", async () => {
  const repo = stage.makeRepo();
  mkdirSync(join(repo, ".writ-task"));
  writeFileSync(join(repo, ".writ-task/own.txt"), "own\n");
  giveTree(repo);
  await stage.startAgents({ scribe: "ls .writ-task" });
  const job = await stage.delegated(repo);
  expect(await stage.output(job.id)).toBe("TASK.md\n");
  expect(readFileSync(join(repo, ".writ-task/own.txt"), "utf8")).toBe("own\n");
});

test("O-15 a repository with too many entries for that is worked on without it", async () => {
  const repo = stage.makeRepo();
  for (let index = 0; index < 130; index++) writeFileSync(join(repo, `file-${index}.txt`), "");
  giveTree(repo);
  await stage.startAgents({ scribe: 'cat "$JOB_TASK_FILE"' });
  const job = await stage.delegated(repo, { run: { prompt: "Mend it." } });
  expect(job).toMatchObject({ status: "completed" });
  expect(await stage.output(job.id)).toContain("Mend it.");
});

describe("O-15 the text of the task", () => {
  test("is one argument where the command says {task}", async () => {
    const repo = stage.makeRepo();
    await stage.startAgents({ scribe: { command: ["sh", "-c", 'printf "%s" "$1"', "sh", "Do: {task}"] } });
    const job = await stage.delegated(repo, { run: { prompt: "Mend $it `now` 'and' \"then\"." } });
    const output = await stage.output(job.id);
    expect(output.startsWith(`Do: # Writ job ${job.id}\n`)).toBe(true);
    expect(output).toContain("Mend $it `now` 'and' \"then\".");
  });

  test("is on standard input with `stdin: task`, in place too", async () => {
    const repo = stage.makeRepo();
    await stage.startAgents({ scribe: { command: ["cat"], stdin: "task" } });
    for (const mode of ["patch", "in-place"]) {
      const job = await stage.delegated(repo, { run: { prompt: "Mend it.", mode } });
      expect(await stage.output(job.id)).toContain("Mend it.");
    }
    expect(existsSync(join(repo, ".writ-task"))).toBe(false);
  });

  test("that is too long for an argument is refused with what to do, and fits on standard input", async () => {
    const repo = stage.makeRepo();
    const prompt = "x".repeat(140_000);
    await stage.startAgents({
      scribe: { command: ["echo", "{task}"] },
      reader: { command: ["wc", "-c"], stdin: "task" },
    });
    const refused = await stage.delegated(repo, { run: { prompt } });
    expect(refused).toMatchObject({ status: "failed", fail_code: "INVALID_JOB" });
    expect(refused.fail_history!.at(-1)!.reason).toMatch(/one has at most 131071; .* stdin: task/);
    const read = await stage.delegated(repo, { run: { prompt, agent: "reader" } });
    expect(Number(await stage.output(read.id))).toBeGreaterThan(140_000);
  });
});
