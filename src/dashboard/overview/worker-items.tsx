import type { ReactNode } from "react";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { BlockText, useBlocks } from "../fleet/blocks.tsx";
import { useNow } from "../hub/clock.ts";
import { useLockdown } from "../hub/lockdown.ts";
import { durationText } from "../parts/format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { type Item, namesText, ranks } from "./attention-item.ts";

type Trouble = {
  key: "silent" | "blocked" | "sandbox" | "isolation";
  icon: IconName;
  state: string;
  /** The text after the name of one worker, and for several workers. */
  one: (worker: WorkerView) => ReactNode;
  many: string;
  note: (worker: WorkerView) => string;
  notes: (worker: WorkerView) => string;
  /** Workers that differ in this get rows of their own. */
  alike?: (worker: WorkerView) => string;
  where: string;
};

/** Workers with a problem; those with the same problem are one row. */
export function useWorkerItems(workers: readonly WorkerView[]): Item[] {
  const now = useNow();
  const isLocked = useLockdown()?.locked === true;
  const blocks = useBlocks(workers);
  const troubles: (Trouble & { has: (worker: WorkerView) => boolean })[] = [
    {
      key: "silent",
      icon: "silent",
      state: "failed",
      // A lockdown stops all workers, and the band above the page says so.
      has: ({ status }) => status === "inactive" && !isLocked,
      one: (worker) => <>is silent for {durationText(now - worker.last_heartbeat)}</>,
      many: "are silent",
      note: () => "it gets no jobs until it reports; a job that it held goes back to the queue",
      notes: () => "they get no jobs until they report; jobs that they held go back to the queue",
      where: "status=inactive",
    },
    {
      key: "blocked",
      icon: "block",
      state: "failed",
      has: ({ status }) => status === "blocked",
      one: ({ id }) => {
        const block = blocks.get(id);
        return <>is blocked {block === undefined ? null : <BlockText record={block} now={now} />}</>;
      },
      many: "are blocked",
      note: () => "it gets no jobs until an administrator unblocks it",
      notes: () => "they get no jobs until an administrator unblocks them",
      where: "status=blocked",
    },
    {
      key: "sandbox",
      icon: "warning",
      state: "assigned",
      has: ({ sandbox_problem }) => Boolean(sandbox_problem),
      one: () => "can run no process now",
      many: "can run no process now",
      note: ({ sandbox_problem }) => sandbox_problem ?? "",
      notes: ({ sandbox_problem }) => sandbox_problem ?? "",
      alike: ({ sandbox_problem }) => sandbox_problem ?? "",
      where: "",
    },
    {
      key: "isolation",
      icon: "warning",
      state: "assigned",
      has: ({ status, sandbox_problem, isolation }) =>
        !sandbox_problem && status !== "inactive" && (isolation?.level ?? "strict") !== "strict",
      one: () => "isolates less than strict",
      many: "isolate less than strict",
      note: ({ isolation }) => `its level is ${isolation?.level}`,
      notes: ({ isolation }) => `their level is ${isolation?.level}`,
      alike: ({ isolation }) => isolation?.level ?? "",
      where: "",
    },
  ];
  return troubles.flatMap((trouble) => {
    const groups = Map.groupBy(workers.filter(trouble.has), (worker) => trouble.alike?.(worker) ?? "");
    return Array.from(groups, ([alike, group]) => rowOf(trouble, group, alike));
  });
}

function rowOf(trouble: Trouble, group: readonly WorkerView[], alike: string): Item {
  const [first] = group;
  const names = group.map(({ id }) => id);
  const query = group.length === 1 ? `open=${encodeURIComponent(names[0]!)}` : trouble.where;
  return {
    key: `${trouble.key} ${alike}`,
    rank: ranks[trouble.key],
    state: trouble.state,
    icon: <Icon name={trouble.icon} />,
    text:
      group.length === 1 ? (
        <>
          <b className="strong">{names[0]}</b> {trouble.one(first!)}
        </>
      ) : (
        <>
          <b className="strong">{group.length} workers</b> {trouble.many}
        </>
      ),
    note: (
      <PlainText
        text={group.length === 1 ? trouble.note(first!) : `${namesText(names)}: ${trouble.notes(first!)}`}
      />
    ),
    act: { label: group.length === 1 ? "Open" : "Show", href: query === "" ? "/fleet" : `/fleet?${query}` },
  };
}
