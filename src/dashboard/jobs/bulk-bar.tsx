import type { BulkFilter } from "../../contract/list-query.ts";
import { routes } from "../../contract/routes.ts";
import type { JobSummary } from "../../contract/view-shapes.ts";
import { isEnded } from "../../core/job.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

type Target = { ids: string[] } | { filter: BulkFilter };

type Act = "cancel" | "retry";

type Props = {
  rows: readonly JobSummary[];
  selected: ReadonlySet<string>;
  /** What the list shows, for acts on all that match. */
  filter: BulkFilter;
  onClear: () => void;
};

/** What can be done with the selected jobs. The hub counts first; what it cannot change is left alone. */
export function BulkBar({ rows, selected, filter, onClear }: Props) {
  if (selected.size === 0) return null;
  const chosen = rows.filter(({ id }) => selected.has(id));
  const retryable = chosen.filter(({ status }) => status === "failed" || status === "quarantined").length;
  const cancellable = chosen.filter(({ status }) => !isEnded(status)).length;
  const ids = [...selected];
  return (
    <div className="bulk" role="toolbar" aria-label="Selected jobs">
      <b className="strong">{countText(selected.size)} selected</b>
      <span className="divider" />
      {retryable > 0 ? (
        <button
          type="button"
          className="button small"
          onClick={() => void askBulk("retry", { ids }, onClear)}
        >
          <Icon name="retry" />
          Retry {countText(retryable)}
        </button>
      ) : null}
      {cancellable > 0 ? (
        <button
          type="button"
          className="button small danger"
          onClick={() => void askBulk("cancel", { ids }, onClear)}
        >
          <Icon name="stop" />
          Cancel {countText(cancellable)}
        </button>
      ) : null}
      <button
        type="button"
        className="button quiet small not-phone"
        onClick={() => void askBulk(retryable > 0 ? "retry" : "cancel", { filter }, onClear)}
      >
        {retryable > 0 ? "Retry" : "Cancel"} all that match…
      </button>
      <button type="button" className="button small not-phone" onClick={() => void copyIds(ids)}>
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

/** Asks the hub what would happen, shows it, and only then does it. */
async function askBulk(act: Act, target: Target, onDone: () => void): Promise<void> {
  try {
    const { body } = await callHub(routes.changeJobs, {
      body: { act, ...wireTarget(target), dry_run: true },
    });
    askFirst(bulkQuestion(act, target, { can: body.done, left: body.left, more: body.more, onDone }));
  } catch (error) {
    showToast({ icon: "warning", text: `Cannot ${act} these jobs`, note: errorText(error) });
  }
}

/** In a body, states are text as in an address. */
function wireTarget(target: Target) {
  if ("ids" in target) return target;
  const { status, ...filter } = target.filter;
  return { filter: status === undefined ? filter : { ...filter, status: status.join(",") } };
}

type Counted = { can: number; left: { why: string }[]; more: boolean; onDone: () => void };

function bulkQuestion(act: Act, target: Target, { can, left, more, onDone }: Counted) {
  const verb = act === "retry" ? "Retry" : "Cancel";
  const leftAlone =
    left.length === 0 ? "none is" : left.length === 1 ? "1 is" : `${countText(left.length)} are`;
  return {
    title: `${verb} ${plural(can, "job")}?`,
    points: [
      {
        icon: act === "retry" ? ("retry" as const) : ("stop" as const),
        text: (
          <>
            <b className="strong">{countText(can)}</b> can be {act === "retry" ? "retried" : "cancelled"},{" "}
            {leftAlone} left alone{left[0] === undefined ? "" : ` (${left[0].why})`}.
          </>
        ),
      },
      {
        icon: "file" as const,
        text:
          act === "retry"
            ? "A retry runs the same signed document with the same limits."
            : "Running processes get 5 s to end by themselves, then their whole tree is killed. Output so far is kept.",
      },
      { icon: "audit" as const, text: "Recorded in the audit trail with your name." },
    ],
    body: more ? <p>There are more than one call changes; do it again for the rest.</p> : undefined,
    acts:
      can === 0
        ? []
        : [
            {
              label: `${verb} ${countText(can)}`,
              tone: act === "retry" ? ("main" as const) : ("alarm" as const),
              run: async () => {
                const { body } = await callHub(routes.changeJobs, { body: { act, ...wireTarget(target) } });
                onDone();
                showToast({
                  icon: act === "retry" ? "retry" : "stop",
                  text:
                    act === "retry"
                      ? `${plural(body.done, "job is", "jobs are")} back in the queue`
                      : `${plural(body.done, "job is", "jobs are")} being cancelled`,
                  note:
                    body.left.length === 0
                      ? undefined
                      : `${plural(body.left.length, "job was", "jobs were")} left alone`,
                });
              },
            },
          ],
  };
}
