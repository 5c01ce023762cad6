import { Fragment } from "react";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { useNow } from "../hub/clock.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { isReachable, slotsText, useWorkers } from "../hub/workers.ts";
import { Icon, Seal } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { workerWords } from "../parts/state.tsx";
import { go, type PageAddress, usePageAddress, withQuery } from "../shell/router.ts";
import { showAddWorker } from "./add-worker.tsx";
import { useBlocks } from "./blocks.tsx";
import { IsolationNotes, isolationWord } from "./isolation-cell.tsx";
import { useLoadHistories } from "./load-history.ts";
import { WorkerDetail } from "./worker-detail.tsx";
import { WorkerRow } from "./worker-row.tsx";

const statuses = ["active", "draining", "inactive", "blocked"] as const;

export function FleetPage() {
  const may = mayOf(usePerson());
  const { data, error, at, reload } = useWorkers(may.seeFleet, { isLoadShown: true });
  const workers = data ?? [];
  const reachable = workers.filter(isReachable);
  return (
    <>
      <div className="top">
        <h1>Fleet</h1>
        <span className="dim not-phone">
          {data === undefined
            ? ""
            : `${reachable.length} of ${workers.length} workers reachable · ${slotsText(reachable)}`}
        </span>
        <span className="grow" />
        {may.administer ? (
          <button type="button" className="button main" onClick={showAddWorker}>
            <Icon name="plus" />
            Add a worker
          </button>
        ) : null}
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {data === undefined && error === undefined ? <SkeletonRows count={5} /> : null}
        {data === undefined ? null : workers.length === 0 ? (
          <NoWorker mayAdd={may.administer} />
        ) : (
          <Workers workers={workers} mayAct={may.administer} onDone={reload} />
        )}
      </div>
    </>
  );
}

function Workers({
  workers,
  mayAct,
  onDone,
}: {
  workers: WorkerView[];
  mayAct: boolean;
  onDone: () => void;
}) {
  const address = usePageAddress();
  const now = useNow();
  const blocks = useBlocks(workers);
  const histories = useLoadHistories(workers);
  const words = address.query.get("q") ?? "";
  const status = address.query.get("status");
  const open = address.query.get("open");
  const shown = workers.filter(
    (worker) => (status === null || worker.status === status) && fits(worker, words),
  );
  return (
    <>
      <WorkerFilters workers={workers} address={address} />
      <section className="panel" role="table" aria-label="Workers">
        <WorkerColumns />
        {shown.map((worker) => (
          <Fragment key={worker.id}>
            <WorkerRow
              worker={worker}
              history={histories.get(worker.id) ?? []}
              now={now}
              isOpen={open === worker.id}
              mayAct={mayAct}
              onToggle={() =>
                go(withQuery(address, { open: open === worker.id ? null : worker.id }), { replace: true })
              }
              onDone={onDone}
            />
            {open === worker.id ? (
              <WorkerDetail
                worker={worker}
                history={histories.get(worker.id) ?? []}
                block={blocks.get(worker.id)}
                now={now}
                mayAct={mayAct}
                onDone={onDone}
              />
            ) : null}
          </Fragment>
        ))}
        {shown.length === 0 ? <p className="table-foot">No worker matches.</p> : null}
      </section>
      <IsolationNotes workers={shown} />
    </>
  );
}

function WorkerFilters({ workers, address }: { workers: WorkerView[]; address: PageAddress }) {
  const words = address.query.get("q") ?? "";
  const status = address.query.get("status");
  return (
    <div className="bar">
      <label className="find fleet-find">
        <Icon name="search" />
        <input
          value={words}
          placeholder="Filter: name, tag:gpu, kind:exec, isolation:strict"
          aria-label="Filter workers"
          spellCheck={false}
          onChange={(event) => go(withQuery(address, { q: event.target.value }), { replace: true })}
        />
      </label>
      <div className="bar chips" role="group" aria-label="Status">
        {statuses.map((one) => (
          <button
            type="button"
            key={one}
            className="chip status-chip"
            aria-pressed={status === one}
            onClick={() => go(withQuery(address, { status: status === one ? null : one }), { replace: true })}
          >
            {workerWords[one].word}{" "}
            <b className="strong">{workers.filter((worker) => worker.status === one).length}</b>
          </button>
        ))}
      </div>
    </div>
  );
}

function WorkerColumns() {
  return (
    <div className="worker-row head" role="row">
      <span role="columnheader">Status</span>
      <span role="columnheader">Worker</span>
      <span role="columnheader">Slots</span>
      <span role="columnheader">CPU, 1 hour</span>
      <span role="columnheader">Memory</span>
      <span role="columnheader" className="not-narrow">
        Running
      </span>
      <span role="columnheader">Isolation</span>
      <span role="columnheader" className="num">
        Heartbeat
      </span>
      <span role="columnheader">
        <span className="only-read">Actions</span>
      </span>
    </div>
  );
}

/** `tag:gpu`, `kind:exec` and `isolation:strict` compare that field, every other word the name. */
function fits(worker: WorkerView, words: string): boolean {
  return words
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .every((word) => {
      const [, field, value] = /^(tag|kind|type|isolation):(.*)$/.exec(word) ?? [];
      if (value === undefined) return `${worker.id} ${worker.name ?? ""}`.toLowerCase().includes(word);
      const lists: Record<string, string[]> = {
        tag: worker.tags,
        kind: worker.kinds ?? [],
        type: worker.types,
        isolation: [isolationWord(worker)],
      };
      return (lists[field ?? ""] ?? []).some((one) => one.toLowerCase().includes(value));
    });
}

function NoWorker({ mayAdd }: { mayAdd: boolean }) {
  return (
    <Empty icon={<Seal kind="seal-wait" />} title="No worker yet">
      <p>Jobs wait until a worker takes them. A worker can run on any machine that reaches this hub.</p>
      {mayAdd ? (
        <button type="button" className="button main" onClick={showAddWorker}>
          Add a worker
        </button>
      ) : null}
    </Empty>
  );
}
