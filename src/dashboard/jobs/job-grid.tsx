import { type MouseEvent, useCallback, useEffect, useRef, useState } from "react";
import { useStore } from "../hub/store.ts";
import { countText } from "../parts/format.ts";
import { useKeys } from "../shell/keys.ts";
import { go } from "../shell/router.ts";
import { Histogram } from "./histogram.tsx";
import { type JobFilter, statesOf } from "./job-filter.ts";
import { type JobList, rowsMax } from "./job-list.ts";
import { JobRow } from "./job-row.tsx";
import { rememberShown } from "./neighbours.ts";
import { useWindow } from "./use-window.ts";

type Props = {
  list: JobList;
  filter: JobFilter;
  selected: ReadonlySet<string>;
  maySelect: boolean;
  onSelect: (selected: ReadonlySet<string>) => void;
};

/** Rows left before the end of the list when the next page is asked for. */
const readAheadRows = 40;

export function JobGrid({ list, filter, selected, maySelect, onSelect }: Props) {
  const { rows, hasMore, isLoadingMore, changed } = useStore(list.state);
  const body = useRef<HTMLDivElement>(null);
  const { first, last, rowHeight } = useWindow(body, rows.length);
  const [current, setCurrent] = useState(-1);
  const isPointed = useRef(false);
  const states = statesOf(filter);

  list.mayInsert = () => scrollY < 80 && !isPointed.current && selected.size === 0 && current < 0;
  useEffect(() => list.setWindow(first, last), [list, first, last]);
  useEffect(() => {
    if (hasMore && last >= rows.length - readAheadRows) void list.loadMore();
  }, [list, hasMore, last, rows.length]);

  const move = (step: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, current + step));
    setCurrent(next);
    requestAnimationFrame(() => {
      const row = body.current?.querySelector<HTMLElement>(`[aria-rowindex="${next + 2}"]`);
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  };
  // The same function for ever, so that a row is not drawn again because of it.
  const latest = useRef({ rows, selected, onSelect });
  latest.current = { rows, selected, onSelect };
  const select = useCallback((id: string, isRange: boolean) => {
    const { rows, selected, onSelect } = latest.current;
    onSelect(withToggled(rows, selected, { id, isRange }));
  }, []);
  const at = rows[current];
  useKeys({
    j: () => move(1),
    arrowdown: () => move(1),
    k: () => move(-1),
    arrowup: () => move(-1),
    enter: at && (() => go(`/jobs/${at.id}`)),
    x: maySelect && at ? () => select(at.id, false) : undefined,
    escape: selected.size > 0 ? () => onSelect(new Set()) : () => setCurrent(-1),
  });
  const open = (event: MouseEvent<HTMLElement>) => {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>("[data-id]");
    if (row === null || target.closest("a, input") !== null || getSelection()?.isCollapsed === false) return;
    go(`/jobs/${row.dataset["id"]}`);
  };

  useEffect(() => rememberShown(rows), [rows]);
  const areAllSelected = rows.length > 0 && selected.size > 0 && rows.every(({ id }) => selected.has(id));
  return (
    <section
      className="panel table"
      onPointerEnter={() => {
        isPointed.current = true;
      }}
      onPointerLeave={() => {
        isPointed.current = false;
      }}
    >
      <Histogram />
      <div
        role="grid"
        aria-label="Jobs"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-multiselectable={maySelect}
      >
        <div className="job-row head" role="row" aria-rowindex={1}>
          <span className="cell-select" role="columnheader">
            {maySelect ? (
              <input
                type="checkbox"
                aria-label="Select all shown"
                checked={areAllSelected}
                onChange={() => onSelect(areAllSelected ? new Set() : new Set(rows.map(({ id }) => id)))}
              />
            ) : null}
          </span>
          <span role="columnheader">State</span>
          <span role="columnheader">Job</span>
          <span role="columnheader">Worker</span>
          <span role="columnheader" className="cell-waited num">
            Waited
          </span>
          <span role="columnheader" className="num">
            Ran
          </span>
          <span role="columnheader" className="cell-try num">
            Try
          </span>
          <span role="columnheader">Result or reason</span>
          <span role="columnheader" className="num">
            Age
          </span>
        </div>
        <div
          ref={body}
          role="rowgroup"
          style={{ height: rows.length * rowHeight }}
          className="row-window"
          onClick={open}
        >
          <div style={{ transform: `translateY(${first * rowHeight}px)` }} role="presentation">
            {rows.slice(first, last).map((job, index) => (
              <JobRow
                key={job.id}
                job={job}
                rowIndex={first + index + 2}
                isSelected={selected.has(job.id)}
                isCurrent={first + index === current}
                isChanged={changed.has(job.id)}
                isOutside={states.length > 0 && !states.includes(job.status)}
                maySelect={maySelect}
                onSelect={select}
              />
            ))}
          </div>
        </div>
      </div>
      <div className="table-foot">
        <span>{footText(rows.length, { hasMore, isLoadingMore })}</span>
        <span className="grow" />
        <span className="not-phone">
          <kbd>J</kbd> <kbd>K</kbd> move &nbsp; {maySelect ? <kbd>X</kbd> : null} {maySelect ? "select" : ""}{" "}
          &nbsp;
          <kbd>↵</kbd> open &nbsp; <kbd>/</kbd> filter &nbsp; <kbd>?</kbd> keys
        </span>
      </div>
    </section>
  );
}

function footText(
  count: number,
  { hasMore, isLoadingMore }: { hasMore: boolean; isLoadingMore: boolean },
): string {
  if (count >= rowsMax) return `The newest ${countText(count)} are shown; narrow the time to see older ones`;
  if (isLoadingMore) return `${countText(count)} read, reading more …`;
  return hasMore ? `1–${countText(count)} · scroll for more` : `${countText(count)} in all`;
}

/** With shift, everything between this row and the last selected one. */
function withToggled(
  rows: readonly { id: string }[],
  selected: ReadonlySet<string>,
  { id, isRange }: { id: string; isRange: boolean },
): ReadonlySet<string> {
  const next = new Set(selected);
  if (!isRange || selected.size === 0) {
    if (!next.delete(id)) next.add(id);
    return next;
  }
  const at = rows.findIndex((row) => row.id === id);
  const from = rows.findIndex((row) => selected.has(row.id));
  for (const row of rows.slice(Math.min(at, from), Math.max(at, from) + 1)) next.add(row.id);
  return next;
}
