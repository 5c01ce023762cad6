import { jobStates } from "../../core/job.ts";
import { type Counts, countLabel } from "../hub/counts.ts";
import { StateIcon, stateWords } from "../parts/state.tsx";

/** How many jobs are in each state, for those who see no statistics. */
export function StatePanel({ counts }: { counts: Counts | undefined }) {
  return (
    <section className="panel">
      <header>
        <h2>Your jobs</h2>
      </header>
      <div className="state-counts">
        {jobStates.map((state) => (
          <a key={state} href={`/jobs?state=${state}`}>
            <span className="state" data-state={state}>
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
