import type { BulkFilter } from "../../contract/list-query.ts";
import { type ListedState, stateBehind } from "../../core/jobs/job.ts";
import { type Act, askBulk } from "./ask-bulk.tsx";
import { cancellable, retryable } from "./bulk-bar.tsx";
import { filterText } from "./filter-text.ts";
import { hubFilter, type JobFilter, mayActOnAll } from "./job-filter.ts";

/**
 * Acts on everything that the filter finds, selected or not. The buttons stand with the filter, away from the
 * selection, so that the two are not confused.
 */
export function AllMatching({ filter, onDone }: { filter: JobFilter; onDone: () => void }) {
  if (!mayActOnAll(filter)) return null;
  const acts = (["retry", "cancel"] as const).filter((act) => statesFor(filter, act).length > 0);
  if (acts.length === 0) return null;
  const ask = (act: Act) => {
    const target = { filter: narrowed(filter, act), text: filterText(filter) };
    void askBulk(act, target, { left: 0, onDone });
  };
  return (
    <div className="row all-matching not-phone" role="group" aria-label="All jobs that match the filter">
      <span className="dim">All that match the filter:</span>
      {acts.map((act) => (
        <button type="button" className="button quiet small" key={act} onClick={() => ask(act)}>
          {act === "retry" ? "Retry all…" : "Cancel all…"}
        </button>
      ))}
    </div>
  );
}

/** Only the jobs of the filter that this act can change. */
function narrowed(filter: JobFilter, act: Act): BulkFilter {
  return { ...hubFilter(filter, Date.now()), status: statesFor(filter, act) };
}

function statesFor(filter: JobFilter, act: Act): ListedState[] {
  const possible: readonly ListedState[] = act === "retry" ? retryable : cancellable;
  const wanted = hubFilter(filter, Date.now()).status ?? possible;
  return wanted.filter((state) => possible.includes(stateBehind(state)));
}
