import { type Counts, countLabel } from "../hub/counts.ts";
import { foundStates } from "../jobs/job-filter.ts";
import { colourOf, StateIcon, stateWords } from "../parts/state.tsx";

/** How many jobs are in each state, for a person who may not see statistics. */
export function StatePanel({ counts }: { counts: Counts | undefined }) {
  return (
    <section className="panel">
      <header>
        <h2>Your jobs</h2>
      </header>
      <div className="state-counts">
        {foundStates.map((state) => (
          <a key={state} href={`/jobs?state=${state}`}>
            <span className="state" data-state={colourOf(state)}>
              <StateIcon state={state} />
              {stateWords[state]}
            </span>
            <b>{counts === undefined ? "–" : countLabel(counts[state])}</b>
          </a>
        ))}
      </div>
    </section>
  );
}
