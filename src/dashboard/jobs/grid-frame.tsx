import { countText } from "../parts/format.ts";
import { rowsMax } from "./job-list.ts";

type HeadProps = { maySelect: boolean; areAllSelected: boolean; onSelectAll: () => void };

export function GridHead({ maySelect, areAllSelected, onSelectAll }: HeadProps) {
  return (
    <div className="job-row head" role="row" aria-rowindex={1}>
      <span className="cell-select" role="columnheader">
        {maySelect ? (
          <input
            type="checkbox"
            aria-label="Select all shown"
            checked={areAllSelected}
            onChange={onSelectAll}
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
  );
}

type FootProps = { count: number; hasMore: boolean; isLoadingMore: boolean; maySelect: boolean };

export function GridFoot({ maySelect, ...shown }: FootProps) {
  return (
    <div className="table-foot">
      <span>{footText(shown)}</span>
      <span className="grow" />
      <span className="not-phone">
        <kbd>J</kbd> <kbd>K</kbd> move &nbsp; {maySelect ? <kbd>X</kbd> : null} {maySelect ? "select" : ""}{" "}
        &nbsp;
        <kbd>↵</kbd> open &nbsp; <kbd>/</kbd> filter &nbsp; <kbd>?</kbd> keys
      </span>
    </div>
  );
}

function footText({ count, hasMore, isLoadingMore }: Omit<FootProps, "maySelect">): string {
  if (count >= rowsMax) return `The newest ${countText(count)} are shown; narrow the time to see older ones`;
  if (isLoadingMore) return `${countText(count)} read, reading more …`;
  return hasMore ? `1–${countText(count)} · scroll for more` : `${countText(count)} in all`;
}
