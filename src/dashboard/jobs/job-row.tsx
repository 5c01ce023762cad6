import { type MouseEvent, memo } from "react";
import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import { useHasPassed } from "../hub/clock.ts";
import { ageText, shortId, wholeMomentText } from "../parts/format.ts";
import { PlainText, plainText } from "../parts/plain-text.tsx";
import { colourOf, StateBadge, shownState, stateWords } from "../parts/state.tsx";
import { Ticking } from "../parts/ticking.tsx";
import { commandText, previewOf, ranText, waitedText } from "./row-text.tsx";

type Props = {
  job: JobSummary;
  rowIndex: number;
  isSelected: boolean;
  isCurrent: boolean;
  isChanged: boolean;
  isOutside: boolean;
  /** Whether the list shows jobs of several tenants. */
  hasTenant: boolean;
  maySelect: boolean;
  onSelect: (id: string, isRange: boolean) => void;
};

/** Drawn again only when one of its own properties changes: the clock writes what depends on the time. */
export const JobRow = memo(function JobRow(props: Props) {
  const { job, isSelected, isCurrent, isChanged, isOutside, hasTenant, rowIndex } = props;
  // Drawn again when the time of a scheduled job has come, which no event tells.
  useHasPassed(job.run_at);
  const state = shownState(job);
  const preview = previewOf(job);
  const command = commandText(job);
  const className = `job-row${isCurrent ? " current" : ""}${isOutside ? " outside" : ""}`;
  return (
    <div
      role="row"
      className={className}
      aria-selected={isSelected}
      aria-rowindex={rowIndex}
      data-id={job.id}
      tabIndex={isCurrent ? 0 : -1}
    >
      <span className="cell-select" role="gridcell">
        {props.maySelect ? (
          <input
            type="checkbox"
            checked={isSelected}
            tabIndex={-1}
            aria-label={`Select ${job.type} ${shortId(job.id)}`}
            onChange={() => {}}
            onClick={(event: MouseEvent) => props.onSelect(job.id, event.shiftKey)}
          />
        ) : null}
      </span>
      <span className={isChanged ? "cell-state changed" : "cell-state"} role="gridcell">
        <StateBadge state={state} />
      </span>
      <span className="cell-job cut" role="gridcell">
        <a href={`/jobs/${job.id}`} tabIndex={-1}>
          <span className="type" dir="auto">
            {job.type}
          </span>
          <span className="id mono">{shortId(job.id)}</span>
          {hasTenant ? (
            <span className="tag cut" dir="auto">
              {job.tenant_id}
            </span>
          ) : null}
          {command === null ? null : (
            <span className="command mono cut" title={plainText(command)}>
              <PlainText text={command} />
            </span>
          )}
        </a>
      </span>
      <span className="cell-worker cut dim" role="gridcell">
        {job.worker_id ?? <span className="dimmer">–</span>}
      </span>
      <Ticking className="cell-waited num dim" role="gridcell" text={(now) => waitedText(job, now)} />
      <span className="cell-ran" role="gridcell">
        <Ran job={job} />
      </span>
      <span className="cell-try num dim" role="gridcell">
        {job.attempts}/{job.max_attempts}
      </span>
      <span
        className={`cell-preview preview cut${preview.isCode ? " mono" : ""}${isChanged ? " changed" : ""}`}
        role="gridcell"
        data-word={stateWords[state]}
        data-state={colourOf(state)}
      >
        {typeof preview.text === "string" ? <PlainText text={preview.text} /> : preview.text}
      </span>
      <Ticking
        className="cell-age num dimmer"
        role="gridcell"
        title={wholeMomentText(job.created_at)}
        text={(now) => ageText(now - job.created_at)}
      />
    </div>
  );
});

function Ran({ job }: { job: JobSummary }) {
  const text = (now: number) => ranText(job, now);
  if (job.status !== "running" || job.progress === null) {
    return <Ticking className={job.status === "running" ? "num plain" : "num plain dim"} text={text} />;
  }
  const percent = Math.round(job.progress);
  return (
    <span className="ran">
      <span
        className="meter"
        role="meter"
        aria-label="Progress"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i style={{ width: `${percent}%` }} />
      </span>
      <Ticking className="num" text={text} />
    </span>
  );
}
