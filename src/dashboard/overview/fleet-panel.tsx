import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { isReachable, slotsText } from "../hub/workers.ts";
import { Slots } from "../parts/slots.tsx";
import { WorkerStatusBadge } from "../parts/state.tsx";

const shownMax = 8;

/** `workers` is undefined while they are read. */
export function FleetPanel({ workers: known }: { workers: readonly WorkerView[] | undefined }) {
  const workers = known ?? [];
  const reachable = workers.filter(isReachable);
  return (
    <section className="panel">
      <header>
        <h2>Fleet</h2>
        <span className="grow">{known === undefined ? "" : slotsText(reachable)}</span>
        <a className="button quiet small" href="/fleet">
          All workers
        </a>
      </header>
      <ul className="fleet-list">
        {workers.slice(0, shownMax).map(({ id, slots: total, current_jobs, status, metrics }) => (
          <li key={id}>
            <a className="strong cut" href={`/fleet?open=${encodeURIComponent(id)}`}>
              {id}
            </a>
            <Slots total={total} busy={current_jobs} isGone={status === "inactive"} />
            <span>
              <WorkerStatusBadge status={status} />
            </span>
            <span className="num dim">
              {status === "inactive" || metrics.length === 0
                ? "–"
                : `${Math.round(metrics.at(-1)!.cpu_percent)} %`}
            </span>
          </li>
        ))}
        {known === undefined ? <li className="dimmer">Loading …</li> : null}
        {known?.length === 0 ? <li className="dimmer">No worker yet</li> : null}
      </ul>
    </section>
  );
}
