import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sqliteUnderTest } from "../../../../test/store-contract/sqlite-under-test.ts";
import { useScene } from "../../../../test/store-contract/use-scene.ts";
import { FolderOutputs } from "../../../output/folder/folder-outputs.ts";
import { jobOutputDir, outputPath } from "../../../output/folder/output-path.ts";
import { KeptOutputs } from "../../../output/kept-outputs.ts";
import type { Store } from "../../../store/store.ts";
import { failuresIn } from "../../failure-log.testing.ts";
import { LeftOutputs } from "../left-outputs.ts";
import { OutputSurvey } from "./output-survey.ts";
import { OutputTally } from "./output-tally.ts";

const scene = useScene(() => sqliteUnderTest());
const forever = new AbortController().signal;
let outputsDir: string;
let log: string[];

beforeEach(() => {
  outputsDir = mkdtempSync(join(tmpdir(), "writ-survey-"));
  log = [];
});
afterEach(() => rmSync(outputsDir, { recursive: true, force: true }));

describe("the survey of folders whose jobs the store does not know", () => {
  test("the survey keeps them when they outnumber the known ones, because the store may be the wrong one", async () => {
    const known = await storedJobs(3);
    const strays = makeFolders(4);
    const survey = surveyOn(scene().store);
    await survey.step(forever);
    await survey.step(forever);
    expect(present([...known, ...strays])).toHaveLength(7);
    expect(warnings()).toMatchObject([
      { unknown: 4, known: 3, msg: expect.stringContaining("right database") },
    ]);
  });

  test("the survey keeps them when there are more than a kill can leave", async () => {
    await storedJobs(1_100);
    const strays = makeFolders(1_001);
    const survey = surveyOn(scene().store);
    await survey.step(forever);
    await survey.step(forever);
    expect(present(strays)).toHaveLength(1_001);
    expect(warnings()).toMatchObject([{ unknown: 1_001 }]);
  });

  test("the survey never takes the folder of a new job for one of them", async () => {
    await storedJobs(2);
    makeFolders(1);
    const created = scene().newId();
    let hasCome = false;
    const store = withNotes(async (input) => {
      // Between the listing of folders and the query for rows, a job is created: its row first, then its folder.
      if (!hasCome) {
        hasCome = true;
        await scene().submit({ id: created });
        makeFolder(created);
      }
      return scene().store.getOutputNotes(input);
    });
    const survey = surveyOn(store);
    await survey.step(forever);
    await survey.step(forever);
    expect(hasCome).toBe(true);
    expect(existsSync(jobOutputDir(outputsDir, created))).toBe(true);
  });

  test("the survey keeps a folder whose id is used again before its turn", async () => {
    await storedJobs(2);
    const [stray] = makeFolders(1);
    let asked = 0;
    const survey = surveyOn(
      withNotes(async (input) => {
        if (asked++ > 0) await scene().submit({ id: stray! });
        return scene().store.getOutputNotes(input);
      }),
    );
    await survey.step(forever);
    expect(asked).toBe(2);
    expect(present([stray!])).toHaveLength(1);
  });

  test("the survey removes them step by step after a kill in the middle of retention, and nothing else", async () => {
    const kept = await storedJobs(130);
    const forgotten = await storedJobs(120);
    await endJobs(forgotten);
    const gone = await scene().store.pruneJobs({
      endedBefore: scene().nowMs + 1,
      quarantinedBefore: 0,
      nowMs: 0,
      limit: 500,
    });
    expect(gone.sort()).toEqual(forgotten.sort());
    // The state after the kill: the rows have gone, the folders have not.
    expect(present(forgotten)).toHaveLength(120);

    const survey = surveyOn(scene().store);
    const left: number[] = [];
    for (let step = 0; step < 4; step++) {
      await survey.step(forever);
      left.push(present(forgotten).length);
    }
    expect(left).toEqual([70, 20, 0, 0]);
    expect(present(kept)).toHaveLength(130);
    expect(warnings()).toEqual([]);
  });
});

function surveyOn(store: Store): OutputSurvey {
  const logger = pino({}, { write: (line: string) => void log.push(line) });
  const outputs = new KeptOutputs(new FolderOutputs(outputsDir), store);
  const deps = { store, outputs, outputTally: new OutputTally(store), logger, failures: failuresIn(logger) };
  return new OutputSurvey(deps, new LeftOutputs(deps));
}

/** The store, with one query replaced by the test's own. */
function withNotes(getOutputNotes: Store["getOutputNotes"]): Store {
  return new Proxy(scene().store, {
    get: (store, name) => (name === "getOutputNotes" ? getOutputNotes : store[name as keyof Store]),
  });
}

async function storedJobs(count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, () => scene().newJob());
  await scene().submitAll(jobs);
  for (const { id } of jobs) makeFolder(id);
  return jobs.map(({ id }) => id);
}

async function endJobs(jobIds: string[]): Promise<void> {
  for (const jobId of jobIds) await scene().changeJob(jobId, { act: "cancel" });
}

function makeFolders(count: number): string[] {
  const ids = Array.from({ length: count }, () => scene().newId());
  for (const id of ids) makeFolder(id);
  return ids;
}

function makeFolder(jobId: string): void {
  const path = outputPath(outputsDir, jobId, 1, "stdout");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "said");
}

function present(jobIds: string[]): string[] {
  return jobIds.filter((jobId) => existsSync(outputPath(outputsDir, jobId, 1, "stdout")));
}

function warnings(): unknown[] {
  return log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
}
