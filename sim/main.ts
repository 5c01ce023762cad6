import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { defects, noDefect } from "./defects.ts";
import { planOf, type Step, stepText } from "./plan.ts";
import { type Outcome, runSchedule, type Stage } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { openStage } from "./stage.ts";

/**
 * Plays schedules of jobs and faults on the hub, its store and its workers, all in this process and in the world's own
 * time. The same seed gives the same schedule, to the last event.
 * Usage: npm run sim -- [--schedules N] [--seed S] [--story] [--defect NAME | --self-test]
 */
const usage = "usage: npm run sim -- [--schedules N] [--seed S] [--story] [--defect NAME | --self-test]";
const schedulesMax = 10_000_000;
const shrinkTriesMax = 300;
const progressEvery = 1_000;

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    story: { type: "boolean", default: false },
    defect: { type: "string" },
    "self-test": { type: "boolean", default: false },
  },
});
const schedules = numberOf("--schedules", values.schedules);
const firstSeed = numberOf("--seed", values.seed);
if (values.defect !== undefined && !Object.hasOwn(defects, values.defect))
  stop(`--defect: ${JSON.stringify(values.defect)} is none; use one of: ${Object.keys(defects).join("; ")}`);

// What is written belongs to one schedule and is never needed again, so it need not reach a disk.
const stage = await openStage(existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
try {
  process.exitCode = values["self-test"] ? await testItself(stage) : await search(stage);
} finally {
  stage.template.remove();
}
process.exit();

/** Plays schedules until a promise is broken, or all are played. */
async function search(stage: Stage): Promise<number> {
  const defect = values.defect === undefined ? noDefect : defects[values.defect]!;
  const total = { jobs: 0, events: 0 };
  const digest = createHash("sha256");
  for (let played = 0; played < schedules; played++) {
    const seed = firstSeed + played;
    const outcome = await runSchedule(stage, { seed, plan: planOf(seed), defect });
    total.jobs += outcome.jobs;
    total.events += outcome.events;
    digest.update(outcome.story.join("\n"));
    if (values.story) console.log(outcome.story.join("\n"));
    if (outcome.broken !== null) return tellBroken(stage, { seed, broken: outcome.broken });
    if ((played + 1) % progressEvery === 0 && played + 1 < schedules)
      console.error(`${played + 1} of ${schedules} schedules`);
  }
  const { jobs, events } = total;
  console.log(
    `${schedules} schedules from seed ${firstSeed}: ${jobs} jobs, ${events} events; every promise was kept`,
  );
  console.log(`digest of everything that happened: ${digest.digest("hex")}`);
  return 0;
}

/** Makes the schedule as short as it can be and still break the same promise, and tells its story. */
async function tellBroken(stage: Stage, { seed, broken }: { seed: number; broken: string }): Promise<number> {
  const defect = values.defect === undefined ? noDefect : defects[values.defect]!;
  const play = (plan: readonly Step[]): Promise<Outcome> => runSchedule(stage, { seed, plan, defect });
  const whole = planOf(seed);
  const short = await shrink(whole, async (plan) => (await play(plan)).broken !== null, shrinkTriesMax);
  const { story } = await play(short);
  console.log(`seed ${seed}: ${broken}`);
  console.log(`\n${short.length} of its ${whole.length} steps are enough:`);
  for (const step of short) console.log(`  ${(step.atMs / 1000).toFixed(3)} s  ${stepText(step)}`);
  console.log(`\nwhat happens then:\n${story.join("\n")}`);
  console.log(
    `\nagain: npm run sim -- --schedules 1 --seed ${seed}${values.defect ? ` --defect ${JSON.stringify(values.defect)}` : ""}`,
  );
  return 1;
}

/** Every mistake that is put in by hand must be found. */
async function testItself(stage: Stage): Promise<number> {
  let missed = 0;
  for (const [name, defect] of Object.entries(defects)) {
    let found: string | null = null;
    for (let seed = firstSeed; seed < firstSeed + schedules && found === null; seed++) {
      const { broken } = await runSchedule(stage, { seed, plan: planOf(seed), defect });
      if (broken !== null) found = `found by schedule ${seed - firstSeed + 1}: ${broken.split("\n")[0]}`;
    }
    if (found === null) missed++;
    console.log(`${name}: ${found ?? `NOT found by ${schedules} schedules`}`);
  }
  return missed === 0 ? 0 : 1;
}

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= schedulesMax) return value;
  return stop(`${flag}: ${JSON.stringify(text)} is not a whole number from 1 to ${schedulesMax}`);
}

function stop(problem: string): never {
  console.error(`${problem}\n${usage}`);
  process.exit(2);
}
