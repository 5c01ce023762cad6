import type { JobSummary } from "../../contract/shapes/view-shapes.ts";
import type { JobState } from "../../core/jobs/job.ts";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { useKeys } from "../shell/keys.ts";
import { showToast } from "../shell/toasts.tsx";
import { type Act, askBulk } from "./ask-bulk.tsx";

type Props = {
  rows: readonly JobSummary[];
  selected: ReadonlySet<string>;
  onClear: () => void;
};

export const retryable: readonly JobState[] = ["failed", "quarantined"];
export const cancellable: readonly JobState[] = ["pending", "assigned", "running"];

/** What can be done with the selected jobs, and with no others. The hub counts before anything happens. */
export function BulkBar({ rows, selected, onClear }: Props) {
  const chosen = rows.filter(({ id }) => selected.has(id));
  const toRetry = chosen.filter(({ status }) => retryable.includes(status)).map(({ id }) => id);
  const toCancel = chosen.filter(({ status }) => cancellable.includes(status)).map(({ id }) => id);
  const ask = (act: Act, ids: string[]) =>
    void askBulk(act, { ids }, { left: selected.size - ids.length, onDone: onClear });
  useKeys({
    r: toRetry.length > 0 ? () => ask("retry", toRetry) : undefined,
    c: toCancel.length > 0 ? () => ask("cancel", toCancel) : undefined,
  });
  if (selected.size === 0) return null;
  return (
    <div className="bulk" role="toolbar" aria-label="Selected jobs">
      <b className="strong">{countText(selected.size)} selected</b>
      <span className="divider" />
      {toRetry.length > 0 ? (
        <button type="button" className="button small" onClick={() => ask("retry", toRetry)}>
          <Icon name="retry" />
          Retry {countText(toRetry.length)} selected
        </button>
      ) : null}
      {toCancel.length > 0 ? (
        <button type="button" className="button small danger" onClick={() => ask("cancel", toCancel)}>
          <Icon name="stop" />
          Cancel {countText(toCancel.length)} selected
        </button>
      ) : null}
      {toRetry.length + toCancel.length === 0 ? (
        <span className="dim">none can be retried or cancelled</span>
      ) : null}
      <button type="button" className="button small not-phone" onClick={() => void copyIds([...selected])}>
        <Icon name="copy" />
        Copy ids
      </button>
      <button type="button" className="icon-button" aria-label="Clear selection" onClick={onClear}>
        <Icon name="close" />
      </button>
    </div>
  );
}

async function copyIds(ids: string[]): Promise<void> {
  await navigator.clipboard.writeText(`${ids.join("\n")}\n`);
  showToast({ icon: "copy", text: `${plural(ids.length, "id")} copied` });
}
