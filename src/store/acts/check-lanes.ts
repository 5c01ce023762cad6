import type { NewJob } from "../../core/jobs/job.ts";
import { numbersOf } from "../../core/lanes/lane.ts";
import { lanesOf } from "../../core/lanes/lane-move.ts";
import type { SubmitOutcome } from "../store.ts";
import type { Act } from "./act.ts";
import { type LaneRow, readLanesNamed } from "./lane-rows.ts";
import { findDifferent } from "./settle-lanes.ts";

type Look = {
  /** Lanes that this transaction makes with its own jobs; those of these jobs are added. */
  drafts: LaneRow[];
  isNew(job: NewJob): boolean;
};

/** The refusal of jobs whose lanes another user has made with other numbers, or null. Why: ADR 0137. */
export function* checkLanes(jobs: readonly NewJob[], { drafts, isNew }: Look): Act<SubmitOutcome | null> {
  const inLanes = jobs.filter((job) => lanesOf(job).length > 0 && isNew(job));
  const names = inLanes.flatMap((job) => lanesOf(job).map(({ name }) => ({ tenantId: job.tenantId, name })));
  if (names.length === 0) return null;
  const lanes = [...(yield* readLanesNamed(names)), ...drafts];
  for (const job of inLanes) {
    const { tenantId, userId } = job;
    const terms = lanesOf(job);
    const lane = findDifferent(lanes, { tenantId, userId, terms });
    if (lane !== null) return { kind: "lane_differs", index: jobs.indexOf(job), lane: factsOf(lane) };
    for (const term of terms) {
      const isThere = lanes.some(({ tenantId: of, name }) => of === tenantId && name === term.name);
      if (isThere) continue;
      const draft = draftOf(job, numbersOf(term), term.name);
      lanes.push(draft);
      drafts.push(draft);
    }
  }
  return null;
}

function draftOf({ tenantId, userId }: NewJob, numbers: ReturnType<typeof numbersOf>, name: string): LaneRow {
  return { id: 0, tenantId, userId, name, ...numbers, active: 0, startsUs: 0, jobs: 0, opensAt: null };
}

function factsOf({ name, maxRunning, rate }: LaneRow) {
  return { name, maxRunning, rate };
}
