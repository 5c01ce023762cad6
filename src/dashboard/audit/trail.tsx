import { type RefObject, useRef, useState } from "react";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { useKeys } from "../shell/keys.ts";
import { usePageAddress, withQuery } from "../shell/router.ts";
import { type AuditFilter, type AuditFilterName, auditLabels } from "./audit-filter.ts";
import { TrailRow } from "./trail-row.tsx";
import { useTrail } from "./use-trail.ts";

export function Trail({ filter }: { filter: AuditFilter }) {
  const trail = useTrail(filter);
  const [open, setOpen] = useState<number | null>(Number(filter.record ?? Number.NaN));
  const table = useRef<HTMLElement>(null);
  useKeys({ j: () => moveFocus(table, 1), k: () => moveFocus(table, -1) });
  const { records } = trail;
  if (records === undefined) {
    return trail.error === undefined ? (
      <SkeletonRows count={12} />
    ) : (
      <ErrorBand error={trail.error} onRetry={trail.reload} />
    );
  }
  const toggle = (seq: number) => {
    trail.hold();
    setOpen(open === seq ? null : seq);
  };
  return (
    <>
      <ErrorBand error={trail.error} at={trail.at} onRetry={trail.reload} />
      {trail.newer > 0 ? (
        <button type="button" className="newer-records" onClick={trail.showNewest}>
          <Icon name="up" />
          {plural(trail.newer, "newer record")}
          {trail.isMoreNewer ? " or more" : ""}
        </button>
      ) : null}
      {records.length === 0 ? (
        <NoRecord filter={filter} />
      ) : (
        <section
          ref={table}
          className="panel trail"
          role="table"
          aria-label="Audit trail"
          onPointerEnter={trail.hold}
          onPointerLeave={() => {
            if (open === null) trail.release();
          }}
        >
          <div className="trail-row head" role="row">
            <span role="columnheader">Time</span>
            <span role="columnheader">Severity</span>
            <span role="columnheader">Who</span>
            <span role="columnheader">What</span>
            <span role="columnheader" className="num">
              Record
            </span>
          </div>
          {records.map((record) => (
            <TrailRow
              key={record.seq}
              record={record}
              isOpen={open === record.seq}
              onToggle={() => toggle(record.seq)}
            />
          ))}
        </section>
      )}
      <div className="row small-text dimmer">
        <span className="grow">
          {countText(records.length)} shown, newest first
          {trail.next === undefined ? "; there are no older ones" : ""}
        </span>
        {trail.next === undefined ? null : (
          <button type="button" className="button small" onClick={() => void trail.readOlder()}>
            Show older
          </button>
        )}
      </div>
    </>
  );
}

/** J and K move between records, as between jobs; Enter opens the one that has the focus. */
function moveFocus(table: RefObject<HTMLElement | null>, step: number): void {
  const rows = [...(table.current?.querySelectorAll<HTMLElement>("button[aria-expanded]") ?? [])];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
}

function NoRecord({ filter }: { filter: AuditFilter }) {
  const address = usePageAddress();
  const names = Object.keys(filter) as AuditFilterName[];
  const last = names.at(-1);
  if (last === undefined) {
    return (
      <Empty icon={<Icon name="audit" />} title="Nothing is recorded yet">
        <p>Everything that changes something, and every refusal, appears here within a second.</p>
      </Empty>
    );
  }
  return (
    <Empty icon={<Icon name="search" />} title="No record matches">
      <p>{names.map((name) => `${auditLabels[name]} ${filter[name]}`).join(", and ")}: there is none.</p>
      <div className="row">
        {names.length < 2 ? null : (
          <a className="button main" href={withQuery(address, { [last]: null })}>
            Drop “{auditLabels[last]}”
          </a>
        )}
        <a className="button" href="/audit">
          Show the whole trail
        </a>
      </div>
    </Empty>
  );
}
