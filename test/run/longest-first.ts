import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { expectedSec } from "./expected-times.ts";

/**
 * Runs the files of a group longest first, so that none of them begins when the others have nearly ended and keeps one
 * processor busy alone. Vitest does so by itself from its second run on; a fresh clone has no first one. Files that share a
 * process stay with those of their project.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    return specifications.toSorted(
      (a, b) => groupOf(a) - groupOf(b) || (isAlone(a) ? 0 : compareNames(a, b)) || secOf(b) - secOf(a),
    );
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

function isAlone({ project }: TestSpecification): boolean {
  return project.config.isolate;
}

function compareNames(a: TestSpecification, b: TestSpecification): number {
  return a.project.name.localeCompare(b.project.name);
}

function secOf({ project, moduleId }: TestSpecification): number {
  return expectedSec({ project: project.name, path: relative(project.config.root, moduleId) });
}
