import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";
import { expectedSec, nameOfRun } from "./expected-times.ts";

/** `npm test -- --save-times` takes it from here. */
const measuredFile = join(import.meta.dirname, "../../node_modules/.writ/test-times.json");
/** A run of fewer files is over before anybody asks how far it is. */
const filesMin = 20;
const stepPercent = 5;
/** Shorter files need no line of their own in the list of times. */
const listedSecMin = 2;

/** Says every few percent how far a run of many files is, and notes how long each of them took. */
// biome-ignore lint/style/noDefaultExport: vitest takes the default export of a reporter's file.
export default class ProgressReporter implements Reporter {
  readonly #startMs = performance.now();
  readonly #startedMs = new Map<string, number>();
  readonly #measured: Record<string, number> = {};
  #filesCount = 0;
  #wholeSec = 0;
  #doneSec = 0;
  #shownPercent = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#filesCount = specifications.length;
    for (const { project, moduleId } of specifications)
      this.#wholeSec += expectedSec({
        project: project.name,
        path: moduleId.slice(project.config.root.length + 1),
      });
  }

  onTestModuleStart(module: TestModule): void {
    this.#startedMs.set(nameOfRun(runOf(module)), performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    const run = runOf(module);
    const name = nameOfRun(run);
    const takenSec = (performance.now() - this.#startedMs.get(name)!) / 1000;
    if (takenSec >= listedSecMin) this.#measured[name] = Math.round(takenSec);
    this.#doneSec += expectedSec(run);
    this.#show();
  }

  onTestRunEnd(): void {
    // A few files that run once more leave the times of the whole run as they are.
    if (this.#filesCount < filesMin) return;
    const sorted = Object.entries(this.#measured).toSorted(([a], [b]) => (a < b ? -1 : 1));
    writeFileSync(measuredFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  }

  #show(): void {
    const part = this.#doneSec / this.#wholeSec;
    const percent = Math.floor((part * 100) / stepPercent) * stepPercent;
    if (this.#filesCount < filesMin || percent <= this.#shownPercent || percent === 100) return;
    this.#shownPercent = percent;
    const takenMin = (performance.now() - this.#startMs) / 60_000;
    const leftMin = (takenMin * (1 - part)) / part;
    console.log(`── ${percent} % of the tests after ${minutes(takenMin)}, about ${minutes(leftMin)} to go`);
  }
}

function runOf(module: TestModule): { project: string; path: string } {
  return { project: module.project.name, path: module.relativeModuleId };
}

function minutes(count: number): string {
  return `${count.toFixed(1)} min`;
}
