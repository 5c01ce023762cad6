import type { Change } from "../../../core/jobs/change.ts";
import { type ChangeContext, decideEffects } from "../../../core/jobs/effects.ts";
import { isActive, type JobRecord } from "../../../core/jobs/job.ts";
import type { Outcome } from "../../../core/jobs/outcome.ts";
import type { Context } from "../context.ts";
import { applyEffects } from "./apply-effects.ts";
import { loadJob, updateJob } from "./job-row.ts";
import { resealJob } from "./reseal-job.ts";
import { settleObjects } from "./settle-objects.ts";

/** The outcome of a change, with the whole record as it is now. */
export type WriteAnswer =
  | ((Extract<Outcome, { kind: "refused" | "duplicate" }> | { kind: "moved" }) & { job: JobRecord })
  | { kind: "unknown" };

/** Nobody else writes while a transaction is open; a second look is enough for a record that was cached too long. */
const looksMax = 3;

/**
 * The only way to change a stored job: ask the rules, write the row under the fence, and in the same transaction
 * everything that follows. Why: ADR 0007, ADR 0022.
 */
export function writeJob(context: Context, job: JobRecord, change: Change, how: ChangeContext): WriteAnswer {
  let before = job;
  for (let look = 1; look <= looksMax; look++) {
    const outcome = decideEffects(before, change, how);
    if (outcome.kind === "moved") {
      if (updateJob(context, before, outcome.effects)) {
        resealJob(context, before, outcome.effects.after);
        applyEffects(context, outcome.effects);
        settleObjects(context, before, outcome.effects.after, change);
        hold(context, outcome.effects.after);
        return { kind: "moved", job: outcome.effects.after };
      }
    } else if (look > 1 || before !== context.held.get(before.id)) {
      return { ...outcome, job: before };
    }
    // Either the row differs from memory, or memory is about to cause a refusal: read the row.
    context.held.delete(before.id);
    context.fresh.forget(before.seq);
    const stored = loadJob(context, before.id);
    if (stored === null) return { kind: "unknown" };
    before = stored;
  }
  throw new Error(`job ${job.id} changed ${looksMax} times inside one transaction`);
}

/** More than any fleet holds at once, and at most 20 MB as long as progress texts are short. */
const heldMax = 20_000;

function hold(context: Context, job: JobRecord): void {
  context.fresh.forget(job.seq);
  if (!isActive(job.status)) context.held.delete(job.id);
  else if (context.held.size < heldMax || context.held.has(job.id)) context.held.set(job.id, job);
}
