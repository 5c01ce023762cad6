import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText, plainText } from "../parts/plain-text.tsx";

/** How a worker isolates processes: `strict`, `best-effort`, `none`, or what is wrong at present. */
export function isolationWord({ isolation, sandbox_problem }: WorkerView): string {
  if (sandbox_problem) return "a problem";
  return isolation?.level ?? "not said";
}

export function IsolationCell({ worker }: { worker: WorkerView }) {
  const word = isolationWord(worker);
  const why = worker.sandbox_problem ?? missingText(worker);
  const isStrict = word === "strict";
  if (word === "not said") return <span className="dimmer">not said</span>;
  return (
    <span className="row" title={why === "" ? undefined : plainText(why)}>
      <span className="state" data-state={isStrict ? "completed" : "assigned"}>
        <Icon name={isStrict ? "lock" : "warning"} />
      </span>
      {word}
    </span>
  );
}

function missingText({ isolation }: WorkerView): string {
  return (isolation?.missing ?? []).map(({ part, why }) => `${part}: ${why}`).join("; ");
}

/** Below the table: why some workers isolate less than strict. Workers with the same reason share a line. */
export function IsolationNotes({ workers }: { workers: readonly WorkerView[] }) {
  const reduced = workers.filter((worker) => !["strict", "not said"].includes(isolationWord(worker)));
  const byReason = Map.groupBy(reduced, (worker) =>
    JSON.stringify([isolationWord(worker), worker.sandbox_problem || missingText(worker)]),
  );
  return [...byReason].map(([reason, here]) => {
    const [word, why] = JSON.parse(reason) as [string, string];
    return (
      <p key={reason} className="dimmer small-text">
        <b className="strong">{word}</b> on {here.map(({ id }) => id).join(", ")}
        {why === "" ? null : (
          <>
            : <PlainText text={why} />. It is recorded on each job that runs there.
          </>
        )}
      </p>
    );
  });
}
