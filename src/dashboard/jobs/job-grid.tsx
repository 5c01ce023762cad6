import { type MouseEvent, type RefObject, useCallback, useEffect, useRef } from "react";
import { useStore } from "../hub/store.ts";
import { go } from "../shell/router.ts";
import { GridFoot, GridHead } from "./grid-frame.tsx";
import { Histogram } from "./histogram.tsx";
import { foundAs, type JobFilter, statesOf } from "./job-filter.ts";
import type { JobList } from "./job-list.ts";
import { JobRow } from "./job-row.tsx";
import { rememberShown } from "./neighbours.ts";
import { withToggled } from "./toggle-rows.ts";
import { useRowMoves } from "./use-row-moves.ts";
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

export function JobGrid(props: Props) {
  const { list, filter, selected, maySelect, onSelect } = props;
  const { rows, hasMore, isLoadingMore } = useStore(list.state);
  const table = useRef<HTMLElement>(null);
  useEffect(() => rememberShown(rows), [rows]);
  const areAllSelected = rows.length > 0 && selected.size > 0 && rows.every(({ id }) => selected.has(id));
  return (
    <section ref={table} className="panel table">
      <Histogram filter={filter} />
      <div
        role="grid"
        aria-label="Jobs"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-multiselectable={maySelect}
      >
        <GridHead
          maySelect={maySelect}
          areAllSelected={areAllSelected}
          onSelectAll={() => onSelect(areAllSelected ? new Set() : new Set(rows.map(({ id }) => id)))}
        />
        <GridRows {...props} table={table} />
      </div>
      <GridFoot count={rows.length} hasMore={hasMore} isLoadingMore={isLoadingMore} maySelect={maySelect} />
    </section>
  );
}

/** The rows on the screen and a few around them; the others are only height. */
function GridRows(props: Props & { table: RefObject<HTMLElement | null> }) {
  const { list, filter, selected, maySelect, onSelect, table } = props;
  const { rows, hasMore, changed } = useStore(list.state);
  const body = useRef<HTMLDivElement>(null);
  const { first, last, rowHeight } = useWindow(body, rows.length);
  const select = useSelect(props);
  const current = useRowMoves({
    body,
    rows,
    onSelect: maySelect ? (id) => select(id, false) : undefined,
    onClear: selected.size > 0 ? () => onSelect(new Set()) : undefined,
  });
  list.mayInsert = () => scrollY < 80 && !isPointedAt(table.current) && selected.size === 0 && current < 0;
  useEffect(() => list.setWindow(first, last), [list, first, last]);
  useEffect(() => {
    if (hasMore && last >= rows.length - readAheadRows) void list.loadMore();
  }, [list, hasMore, last, rows.length]);
  const states = statesOf(filter);
  const hasTenants = rows.some(({ tenant_id }) => tenant_id !== rows[0]!.tenant_id);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the list open a row
    <div
      ref={body}
      role="rowgroup"
      style={{ height: rows.length * rowHeight }}
      className="row-window"
      onClick={openRow}
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
            isOutside={states.length > 0 && !states.includes(foundAs(job))}
            hasTenant={hasTenants}
            maySelect={maySelect}
            onSelect={select}
          />
        ))}
      </div>
    </div>
  );
}

/** Looked up each time: the browser sends no event when the row under the pointer is removed. */
function isPointedAt(element: HTMLElement | null): boolean {
  return matchMedia("(hover: hover)").matches && element?.matches(":hover") === true;
}

/** Always the same function, so that it does not make a row render again. */
function useSelect({ list, selected, onSelect }: Props): (id: string, isRange: boolean) => void {
  const latest = useRef({ list, selected, onSelect });
  latest.current = { list, selected, onSelect };
  return useCallback((id, isRange) => {
    const { list, selected, onSelect } = latest.current;
    onSelect(withToggled(list.state.get().rows, selected, { id, isRange }));
  }, []);
}

/** A click anywhere in a row opens its job, unless it is on a control or marks text. */
function openRow(event: MouseEvent<HTMLElement>): void {
  const target = event.target as HTMLElement;
  const row = target.closest<HTMLElement>("[data-id]");
  if (row === null || target.closest("a, input") !== null || getSelection()?.isCollapsed === false) return;
  go(`/jobs/${row.dataset["id"]}`);
}
