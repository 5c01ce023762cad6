import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { type Counts, countLabel } from "../hub/counts.ts";
import { useQuery } from "../hub/use-query.ts";
import { deadLetterTime } from "../parts/dead-letter-time.ts";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { type Item, namesText, ranks } from "./attention-item.ts";
import { jobsPath } from "./signals.tsx";

/** Jobs that a person should look at: those that no worker can run, dead letters, and those that wait for long. */
export function useJobItems(
  counts: Counts | undefined,
  statistics: StatisticsView | null | undefined,
): Item[] {
  const waiting = useLongWaits();
  const stuck = statistics?.now.unrunnable?.jobs ?? 0;
  // Jobs that no worker can run wait for long too; their own row says more.
  return [...unrunnable(statistics), ...deadLetters(counts), ...(stuck > 0 ? [] : longWaits(waiting))];
}

function unrunnable(statistics: StatisticsView | null | undefined): Item[] {
  const { jobs = 0, queues = [] } = statistics?.now.unrunnable ?? {};
  const [first] = queues;
  if (first === undefined) return [];
  const types = [...new Set(queues.map(({ type }) => type))];
  const tenant = statistics?.tenant_id ?? null;
  const query = types.length === 1 ? `state=pending&type=${encodeURIComponent(first.type)}` : "state=pending";
  return [
    {
      key: "unrunnable",
      rank: ranks.unrunnable,
      state: "failed",
      icon: <Icon name="warning" />,
      text: (
        <>
          <b className="strong">{plural(jobs, "job")}</b> that no worker can run
        </>
      ),
      note: (
        <PlainText
          text={
            types.length === 1
              ? `${first.type}: ${first.why}`
              : `${namesText(types)}; ${first.type}: ${first.why}`
          }
        />
      ),
      act: { label: "Show", href: jobsPath(query, tenant) },
    },
  ];
}

function deadLetters(counts: Counts | undefined): Item[] {
  if (counts === undefined || counts.quarantined.count === 0) return [];
  return [
    {
      key: "dead",
      rank: ranks.deadLetters,
      state: "quarantined",
      icon: <StateIcon state="quarantined" />,
      text: (
        <b className="strong">
          {countLabel(counts.quarantined)} dead {counts.quarantined.count === 1 ? "letter" : "letters"}
        </b>
      ),
      note: `failed in every attempt; ${deadLetterTime}`,
      act: { label: "Review", href: "/jobs?state=dead" },
    },
  ];
}

/** A scheduled job and a retry wait only from the time that they are due. */
const longMs = 60_000;
const lookedMax = 20;

type LongWaits = { count: number; isMore: boolean };

/**
 * How many jobs wait for over a minute; the hub may end its count early. The newest are checked one by one, because
 * they may have become due after they were submitted.
 */
function useLongWaits(): LongWaits {
  const load = async (): Promise<LongWaits> => {
    const query = { status: ["waiting" as const], until: Date.now() - longMs, count: true, limit: lookedMax };
    const { body, header } = await callHub(pageRoutes.listJobs, { query });
    const total = header("x-total-count") ?? "0";
    const early = body.filter(({ run_at }) => run_at > Date.now() - longMs).length;
    return { count: Math.max(0, Number.parseInt(total, 10) - early), isMore: total.endsWith("+") };
  };
  return (
    useQuery("long waits", load, { everyMs: 30_000, whenMs: 10_000, when: ({ events }) => events.size > 0 })
      .data ?? { count: 0, isMore: false }
  );
}

function longWaits({ count, isMore }: LongWaits): Item[] {
  if (count === 0) return [];
  return [
    {
      key: "waits",
      rank: ranks.longWaits,
      state: "pending",
      icon: <StateIcon state="pending" />,
      text: (
        <>
          <b className="strong">
            {isMore && "more than "}
            {countText(count)} {count === 1 ? "job" : "jobs"}
          </b>{" "}
          {count === 1 ? "waits" : "wait"} for over a minute
        </>
      ),
      note: "open one to see what it waits for",
      act: { label: "Why", href: "/jobs?state=pending&until=1m" },
    },
  ];
}
