import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import type { WhyView } from "../../contract/why-view.ts";
import { plural } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { WorkerStatusBadge } from "../parts/state.tsx";

/** Every worker that the hub considered for a waiting job, and what each lacks. */
export function CandidateWorkers({ why, workers }: { why: WhyView; workers: readonly WorkerView[] }) {
  if (why.workers.length === 0) return null;
  const fitting = why.workers.filter(({ fits }) => fits).length;
  const known = new Map(workers.map((worker) => [worker.id, worker]));
  return (
    <section className="panel">
      <header>
        <h2>Workers that could take it</h2>
        <span className="grow">
          {fitting} of {plural(why.workers.length, "worker fits", "workers fit")}
        </span>
      </header>
      <table className="why">
        <thead>
          <tr>
            <th>Worker</th>
            {workers.length === 0 ? null : <th>Status</th>}
            {workers.length === 0 ? null : <th className="not-phone">Free slots</th>}
            <th>What is missing</th>
          </tr>
        </thead>
        <tbody>
          {why.workers.map(({ worker_id, fits, why: lacks }) => {
            const worker = known.get(worker_id);
            return (
              <tr key={worker_id}>
                <td className="strong">{worker_id}</td>
                {workers.length === 0 ? null : (
                  <td>{worker === undefined ? "–" : <WorkerStatusBadge status={worker.status} />}</td>
                )}
                {workers.length === 0 ? null : (
                  <td className="not-phone">
                    {worker === undefined || worker.status === "inactive" || worker.current_jobs === null
                      ? "–"
                      : Math.max(0, worker.slots - worker.current_jobs)}
                  </td>
                )}
                <td>{lacks.length === 0 ? fits ? "nothing" : "–" : <PlainText text={lacks.join("; ")} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
