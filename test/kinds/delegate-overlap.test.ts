import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { obstacle } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { contentOf, delegateStage } from "./delegate-stage.ts";

/** Two agents of one worker in place in one repository. */
const stage = delegateStage();

/** Each agent writes its prompt's file, says so, and waits until the test lets it end. */
const agents = {
  bad: "echo bad > src/bad.txt; mkdir src/.git; until [ -e src/go ]; do sleep 0.02; done",
  good: "echo good > src/lib/good.txt",
};

test("O-44 an agent whose paths overlap with those of another waits, and the undo of one leaves the other's work", async () => {
  const repo = stage.makeRepo();
  const before = contentOf(repo);
  await stage.startAgents(agents);
  const inPlace = { mode: "in-place" };
  const bad = await stage.delegate(repo, { run: { ...inPlace, agent: "bad" } });
  await eventually("the first works", () => existsSync(join(repo, "src/bad.txt")));
  const good = await stage.delegate(repo, { allowed: ["src/lib"], run: { ...inPlace, agent: "good" } });
  // The worker takes jobs in order: one that came later and does not overlap is over, if nothing else holds the second.
  const elsewhere = stage.makeRepo();
  await stage.delegated(elsewhere, { allowed: ["src/lib"], run: { ...inPlace, agent: "good" } });
  expect(existsSync(join(repo, "src/lib/good.txt"))).toBe(false);
  writeFileSync(join(repo, "src/go"), "");
  // A new .git is a violation, so everything that the first did is put back.
  expect(await stage.ended(bad)).toMatchObject({ fail_code: "SECURITY_VIOLATION" });
  expect(await stage.ended(good)).toMatchObject({
    status: "completed",
    result: { changed: [{ path: "src/lib/good.txt", change: "added" }] },
  });
  expect(readFileSync(join(repo, "src/lib/good.txt"), "utf8")).toBe("good\n");
  const { "src/lib/good.txt": _, ...rest } = contentOf(repo);
  expect(Object.keys(rest).filter((path) => !path.includes("set-aside"))).toEqual(Object.keys(before));
});

test.skipIf(obstacle !== null)(
  "O-44 agents in other paths of a repository work at the same time",
  async () => {
    const repo = stage.makeRepo();
    await stage.startAgents({
      slow: "echo x > src/x; until [ -e src/go ]; do sleep 0.02; done",
      quick: "echo y > docs/y",
    });
    const slow = await stage.delegate(repo, { run: { mode: "in-place" } });
    await eventually("the first works", () => existsSync(join(repo, "src/x")));
    const run = { mode: "in-place", agent: "quick" };
    expect(await stage.delegated(repo, { allowed: ["docs"], run })).toMatchObject({ status: "completed" });
    expect(await stage.get(slow)).toMatchObject({ status: "running" });
    writeFileSync(join(repo, "src/go"), "");
    expect(await stage.ended(slow)).toMatchObject({ status: "completed" });
  },
);
