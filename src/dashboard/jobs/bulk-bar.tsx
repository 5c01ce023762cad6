import type { BulkFilter } from "../../contract/list-query.ts";
import { routes } from "../../contract/routes.ts";
import type { JobSummary } from "../../contract/view-shapes.ts";
import type { JobState } from "../../core/job.ts";
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

const retryable: readonly JobState[] = ["failed", "quarantined"];
const cancellable: readonly JobState[] = ["pending", "assigned", "running"];

/** What can be done with the selected jobs, or with all that match. The hub counts before anything happens. */
export function BulkBar({ rows, selected, filter, onClear }: Props) {
  if (selected.size === 0) return null;
  const chosen = rows.filter(({ id }) => selected.has(id));
  const toRetry = chosen.filter(({ status }) => retryable.includes(status)).map(({ id }) => id);
  const toCancel = chosen.filter(({ status }) => cancellable.includes(status)).map(({ id }) => id);
  const ask = (act: Act, ids: string[]) =>
    void askBulk(act, { ids }, { left: selected.size - ids.length, onDone: onClear });
  const act: Act = toRetry.length > 0 ? "retry" : "cancel";
  return (
    <div className="bulk" role="toolbar" aria-label="Selected jobs">
      <b className="strong">{countText(selected.size)} selected</b>
      <span className="divider" />
      {toRetry.length > 0 ? (
        <button type="button" className="button small" onClick={() => ask("retry", toRetry)}>
          <Icon name="retry" />
          Retry {countText(toRetry.length)}
        </button>
      ) : null}
      {toCancel.length > 0 ? (
        <button type="button" className="button small danger" onClick={() => ask("cancel", toCancel)}>
          <Icon name="stop" />
          Cancel {countText(toCancel.length)}
        </button>
      ) : null}
      <button
        type="button"
        className="button quiet small not-phone"
        onClick={() => void askBulk(act, { filter: narrowed(filter, act) }, { left: 0, onDone: onClear })}
      >
        {act === "retry" ? "Retry" : "Cancel"} all that match…
      </button>
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

/** Only the jobs of the filter that this act can change. */
function narrowed(filter: BulkFilter, act: Act): BulkFilter {
  const possible = act === "retry" ? retryable : cancellable;
  const status = filter.status?.filter((state) => possible.includes(state)) ?? [...possible];
  return { ...filter, status };
}

async function copyIds(ids: string[]): Promise<void> {
  await navigator.clipboard.writeText(`${ids.join("\n")}\n`);
  showToast({ icon: "copy", text: `${plural(ids.length, "id")} copied` });
}

type Around = {
  /** How many of the selected jobs cannot be changed. */
  left: number;
  onDone: () => void;
};

/** Asks the hub how many there are, shows it, and only then does it. */
async function askBulk(act: Act, target: Target, around: Around): Promise<void> {
  try {
    const { body } = await callHub(routes.changeJobs, {
      body: { act, ...wireTarget(target), dry_run: true },
    });
    askFirst(bulkQuestion(act, target, { can: body.matched, more: body.more, ...around }));
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

type Counted = Around & { can: number; more: boolean };

function bulkQuestion(act: Act, target: Target, { can, left, more, onDone }: Counted) {
  const verb = act === "retry" ? "Retry" : "Cancel";
  const leftAlone = left === 0 ? "none is" : left === 1 ? "1 is" : `${countText(left)} are`;
  return {
    title: `${verb} ${plural(can, "job")}?`,
    points: [
      {
        icon: act === "retry" ? ("retry" as const) : ("stop" as const),
        text: (
          <>
            <b className="strong">{countText(can)}</b> can be {act === "retry" ? "retried" : "cancelled"},{" "}
            {leftAlone} left alone.
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
