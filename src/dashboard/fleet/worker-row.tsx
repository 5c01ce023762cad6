import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { isRegistered } from "../hub/workers.ts";
import { ageText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { Slots } from "../parts/slots.tsx";
import { Spark } from "../parts/spark.tsx";
import { StateIcon, WorkerStatusBadge } from "../parts/state.tsx";
import { IsolationCell } from "./isolation-cell.tsx";
import type { Sample } from "./load-history.ts";
import { askToBlock, drain, unblock, undrain } from "./worker-acts.tsx";

type Props = {
  worker: WorkerView;
  history: readonly Sample[];
  now: number;
  isOpen: boolean;
  mayAct: boolean;
  onToggle: () => void;
  onDone: () => void;
};

const tagsShown = 3;
/** A heartbeat that is older than this is late. */
const lateMs = 40_000;

export function WorkerRow({ worker, history, now, isOpen, mayAct, onToggle, onDone }: Props) {
  const { id, name, status, tags, cores, ram_gb, location, slots, current_jobs, metrics } = worker;
  const isGone = status === "inactive";
  const isKnown = isRegistered(worker);
  const last = metrics.at(-1);
  const silentMs = now - worker.last_heartbeat;
  return (
    <div className="worker-row" role="row" aria-label={id}>
      <span role="cell">
        <WorkerStatusBadge status={status} />
      </span>
      <span className="cut" role="cell">
        <button type="button" className="open-row" aria-expanded={isOpen} onClick={onToggle}>
          <b className="strong">
            <PlainText text={name ?? id} />
          </b>
        </button>{" "}
        {tags.slice(0, tagsShown).map((tag) => (
          <span className="tag" key={tag}>
            {tag}
          </span>
        ))}
        {tags.length > tagsShown ? <span className="tag">+{tags.length - tagsShown}</span> : null}
        <small className="cut">
          {isKnown
            ? `${plural(cores, "core")}, ${ram_gb} GB · ${location === "CLOUD" ? "cloud" : "local"}`
            : "not registered"}
        </small>
      </span>
      <span role="cell">
        <Slots total={slots} busy={current_jobs} isGone={isGone} />
        <small>{isGone ? `${plural(slots, "slot")}, unknown` : isKnown ? busyText(worker) : "–"}</small>
      </span>
      <span className="sparks" role="cell">
        {last === undefined || isGone ? (
          <span className="dimmer">no data</span>
        ) : (
          <>
            <Spark
              values={history.map(({ cpu_percent }) => cpu_percent)}
              colour="var(--ink-2)"
              max={100}
              width={90}
              height={22}
            />
            <span className="num">{Math.round(last.cpu_percent)} %</span>
          </>
        )}
      </span>
      <span role="cell">
        {last === undefined || isGone ? (
          <span className="dimmer">–</span>
        ) : (
          <Memory used={last.mem_used_bytes} total={last.mem_total_bytes} />
        )}
      </span>
      <span className="row not-narrow" role="cell">
        {!current_jobs ? (
          <span className="dimmer">{current_jobs === 0 ? "nothing" : "–"}</span>
        ) : (
          <a className="job-chip" href={`/jobs?state=assigned,running&worker=${encodeURIComponent(id)}`}>
            <StateIcon state="running" />
            {current_jobs} {current_jobs === 1 ? "job" : "jobs"}
          </a>
        )}
      </span>
      <span className="row sandbox" role="cell">
        <IsolationCell worker={worker} />
      </span>
      <span className={isGone || (isKnown && silentMs > lateMs) ? "num strong late" : "num dim"} role="cell">
        {isKnown ? ageText(silentMs) : "–"}
      </span>
      <span className="row acts" role="cell">
        {mayAct ? <RowActs worker={worker} onDone={onDone} /> : null}
      </span>
    </div>
  );
}

function RowActs({ worker, onDone }: { worker: WorkerView; onDone: () => void }) {
  const { id, status } = worker;
  if (status === "blocked") {
    return (
      <button type="button" className="button small" onClick={() => void unblock(worker, onDone)}>
        Unblock
      </button>
    );
  }
  const isDraining = status === "draining";
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={isDraining ? `Let ${id} work again` : `Drain ${id}`}
        title={isDraining ? "Let it work again" : "Drain"}
        onClick={() => void (isDraining ? undrain(worker, onDone) : drain(worker, onDone))}
      >
        <Icon name={isDraining ? "active" : "drain"} />
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label={`Block ${id}`}
        title="Block"
        onClick={() => askToBlock(worker, onDone)}
      >
        <Icon name="block" />
      </button>
    </>
  );
}

function Memory({ used, total }: { used: number; total: number }) {
  const percent = Math.round((used / Math.max(1, total)) * 100);
  return (
    <>
      <span
        className="meter plain-meter"
        role="meter"
        aria-label="Memory"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i style={{ width: `${percent}%` }} />
      </span>
      <small>{percent} %</small>
    </>
  );
}

function busyText({ current_jobs, slots }: WorkerView): string {
  return current_jobs === null ? plural(slots, "slot") : `${current_jobs} of ${slots} busy`;
}
