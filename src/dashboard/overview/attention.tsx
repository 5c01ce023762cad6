import { useState } from "react";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import type { Counts } from "../hub/counts.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import type { Item } from "./attention-item.ts";
import { useJobItems } from "./job-items.tsx";
import { useTrustItems } from "./trust-items.tsx";
import { useWorkerItems } from "./worker-items.tsx";

/** More rows do not fit beside the chart and are shown on request. */
const shownMax = 5;

type Props = {
  counts: Counts | undefined;
  /** Null for a person who may not see statistics; undefined until they are read, like the workers. */
  statistics: StatisticsView | null | undefined;
  workers: readonly WorkerView[] | undefined;
};

/** What a person should look at, the most urgent first. Several things with the same problem share a row. */
export function Attention({ counts, statistics, workers }: Props) {
  const may = mayOf(usePerson());
  const [isWhole, setWhole] = useState(false);
  const items = [
    ...useJobItems(counts, statistics),
    ...useWorkerItems(workers ?? []),
    ...useTrustItems(may),
  ].sort((a, b) => a.rank - b.rank);
  const isLoading = counts === undefined || (may.seeFleet && workers === undefined);
  const shown = isWhole ? items : items.slice(0, shownMax);
  return (
    <section className="panel attention">
      <header>
        <h2>Needs attention</h2>
        <span className="grow" />
        {items.length === 0 ? null : <span className="tag">{items.length}</span>}
      </header>
      {items.length === 0 ? (
        <p className="nothing dimmer">{isLoading ? "Loading …" : "Nothing needs attention."}</p>
      ) : (
        <ul>
          {shown.map((item) => (
            <Row key={item.key} item={item} />
          ))}
        </ul>
      )}
      {items.length > shownMax ? (
        <button type="button" className="button quiet small more" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${items.length}`}
        </button>
      ) : null}
    </section>
  );
}

function Row({ item: { state, icon, text, note, act } }: { item: Item }) {
  return (
    <li>
      <span className="state" data-state={state}>
        {icon}
      </span>
      <div>
        <p>{text}</p>
        <small>{note}</small>
      </div>
      {act === undefined ? null : (
        <a className="button small" href={act.href}>
          {act.label}
        </a>
      )}
    </li>
  );
}
