import type { BulkFilter } from "../../contract/list-query.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { countText, plural } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

export type Act = "cancel" | "retry";

/** The selected jobs, or all that a filter finds; `text` is that filter in words. */
type Target = { ids: string[] } | { filter: BulkFilter; text: string };

type Context = {
  /** How many of the selected jobs cannot be changed. */
  left: number;
  onDone: () => void;
};

/** Asks the hub how many jobs match, shows the number, and acts when the person confirms. */
export async function askBulk(act: Act, target: Target, context: Context): Promise<void> {
  try {
    const { body } = await callHub(pageRoutes.changeJobs, {
      body: { act, ...wireTarget(target), dry_run: true },
    });
    askFirst(bulkQuestion(act, target, { can: body.matched, more: body.more, ...context }));
  } catch (error) {
    showToast({ icon: "warning", text: `Cannot ${act} these jobs`, note: errorText(error) });
  }
}

/** In a body, states are one text, as in an address. */
function wireTarget(target: Target) {
  if ("ids" in target) return target;
  const { status, ...filter } = target.filter;
  return { filter: status === undefined ? filter : { ...filter, status: status.join(",") } };
}

type Counted = Context & { can: number; more: boolean };

function bulkQuestion(act: Act, target: Target, { can, left, more, onDone }: Counted) {
  const verb = act === "retry" ? "Retry" : "Cancel";
  const leftAlone = left === 0 ? "none is" : left === 1 ? "1 is" : `${countText(left)} are`;
  return {
    title: bulkTitle(verb, target, { can, more }),
    points: [
      ...("filter" in target
        ? [{ icon: "search" as const, text: <FilterPoint filter={target.text} /> }]
        : []),
      {
        icon: act === "retry" ? ("retry" as const) : ("stop" as const),
        text: (
          <>
            <b className="strong">{countText(can)}</b> can be {act === "retry" ? "retried" : "cancelled"}
            {"ids" in target ? `, ${leftAlone} left alone.` : "."}
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
    body: more ? <p>More jobs match than one call can change; repeat it for the rest.</p> : undefined,
    acts:
      can === 0
        ? []
        : [
            {
              label: "ids" in target ? `${verb} ${countText(can)}` : `${verb} all ${countText(can)}`,
              tone: act === "retry" ? ("main" as const) : ("alarm" as const),
              run: async () => {
                const { body } = await callHub(pageRoutes.changeJobs, {
                  body: { act, ...wireTarget(target) },
                });
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

/** Which jobs are meant: those that were selected, or all that the filter finds. */
function bulkTitle(verb: string, target: Target, { can, more }: { can: number; more: boolean }): string {
  if ("ids" in target) return `${verb} ${plural(can, "selected job")}?`;
  return can === 1
    ? `${verb} the one job that matches the filter?`
    : `${verb} ${more ? "the first" : "all"} ${countText(can)} jobs that match the filter?`;
}

function FilterPoint({ filter }: { filter: string }) {
  return (
    <>
      The filter is:{" "}
      <b className="strong">
        <PlainText text={filter} />
      </b>
      . Every job that matches is meant, selected or not.
    </>
  );
}
