import { type ReactNode, useState } from "react";
import type { AuditView } from "../../contract/audit-shapes.ts";
import { routes } from "../../contract/routes.ts";
import type { WorkerView } from "../../contract/view-shapes.ts";
import { rotationDueMs } from "../../core/key-times.ts";
import { certsDue, readCerts } from "../access/certs.ts";
import { BlockText, useBlocks } from "../fleet/blocks.tsx";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { type Counts, countLabel } from "../hub/counts.ts";
import { useLockdown } from "../hub/lockdown.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { durationText, plural } from "../parts/format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { StateIcon } from "../parts/state.tsx";

type Item = {
  key: string;
  state: string;
  icon: ReactNode;
  text: ReactNode;
  note: ReactNode;
  act?: { label: string; href: string };
};

const dayMs = 86_400_000;
/** A key is worth a word this long before it is due. */
const dueMs = 14 * dayMs;
/** What does not fit beside the chart is shown when somebody asks. */
const shownMax = 5;

/** What somebody should look at, the most urgent first. */
export function Attention({
  counts,
  workers: known,
}: {
  counts: Counts | undefined;
  workers: readonly WorkerView[] | undefined;
}) {
  const workers = known ?? [];
  const may = mayOf(usePerson());
  const now = useNow();
  const [isWhole, setWhole] = useState(false);
  const isLocked = useLockdown()?.locked === true;
  const waiting = useLongWaits();
  const blocks = useBlocks(workers);
  const keys = useKeysDue(may.administerHub);
  const certs = useCertsDue(may.administer);
  const alerts = useAlertChannels(may.administerHub);
  const items = [
    ...deadLetters(counts),
    ...workers.flatMap((worker) => workerItems(worker, { now, isLocked, block: blocks.get(worker.id) })),
    ...longWaits(waiting),
    ...keys,
    ...certs,
    ...alerts,
  ];
  const isLoading = counts === undefined || (may.seeFleet && known === undefined);
  const shown = isWhole ? items : items.slice(0, shownMax);
  return (
    <section className="panel attention">
      <header>
        <h2>Needs attention</h2>
        <span className="grow" />
        {items.length === 0 ? null : <span className="tag">{items.length}</span>}
      </header>
      {items.length === 0 ? (
        <p className="nothing dimmer">{isLoading ? "Loading …" : "Nothing does."}</p>
      ) : (
        <ul>
          {shown.map(({ key, state, icon, text, note, act }) => (
            <li key={key}>
              <span className="state" data-state={state}>
                {icon}
              </span>
              <div>
                <p>{text}</p>
                <small>{note}</small>
              </div>
              {act === undefined ? null : (
                <a className="button small" href={act.href}>
                  {act.label}
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
      {items.length > shownMax ? (
        <button type="button" className="button quiet small more" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${items.length}`}
        </button>
      ) : null}
    </section>
  );
}

function deadLetters(counts: Counts | undefined): Item[] {
  if (counts === undefined || counts.quarantined.count === 0) return [];
  return [
    {
      key: "dead",
      state: "quarantined",
      icon: <StateIcon state="quarantined" />,
      text: (
        <b className="strong">
          {countLabel(counts.quarantined)} dead {counts.quarantined.count === 1 ? "letter" : "letters"}
        </b>
      ),
      note: "failed in every attempt; kept until somebody retries them",
      act: { label: "Review", href: "/jobs?state=dead" },
    },
  ];
}

function workerItems(
  worker: WorkerView,
  { now, isLocked, block }: { now: number; isLocked: boolean; block: AuditView | undefined },
): Item[] {
  const { id, status, sandbox_problem } = worker;
  const open = { label: "Open", href: `/fleet?open=${encodeURIComponent(id)}` };
  const name = <b className="strong">{id}</b>;
  const of = (what: string, icon: IconName, state: string, text: ReactNode, note: ReactNode): Item => ({
    key: `${what} ${id}`,
    state,
    icon: <Icon name={icon} />,
    text,
    note,
    act: open,
  });
  const items: Item[] = [];
  // A lockdown stops all workers, and the band above the page says so.
  if (status === "inactive" && !isLocked) {
    items.push(
      of(
        "silent",
        "silent",
        "failed",
        <>
          {name} is silent for {durationText(now - worker.last_heartbeat)}
        </>,
        "it gets no jobs until it reports; a job that it held went back to the queue",
      ),
    );
  }
  if (status === "blocked")
    items.push(
      of(
        "blocked",
        "block",
        "failed",
        <>
          {name} is blocked {block === undefined ? null : <BlockText record={block} now={now} />}
        </>,
        "it gets no jobs until somebody unblocks it",
      ),
    );
  const { isolation } = worker;
  if (sandbox_problem)
    items.push(of("sandbox", "warning", "assigned", <>{name} can run no process now</>, sandbox_problem));
  else if (status !== "inactive" && (isolation?.level ?? "strict") !== "strict")
    items.push(
      of(
        "isolation",
        "warning",
        "assigned",
        <>{name} isolates less than strict</>,
        `its level is ${isolation?.level}`,
      ),
    );
  return items;
}

function useLongWaits(): number {
  const load = async () => {
    const query = { status: ["pending" as const], until: Date.now() - 60_000, count: true, limit: 1 };
    const { header } = await callHub(routes.listJobs, { query });
    return Number.parseInt(header("x-total-count") ?? "0", 10);
  };
  return (
    useQuery("long waits", load, { everyMs: 30_000, whenMs: 10_000, when: ({ events }) => events.size > 0 })
      .data ?? 0
  );
}

function longWaits(count: number): Item[] {
  if (count === 0) return [];
  return [
    {
      key: "waits",
      state: "pending",
      icon: <StateIcon state="pending" />,
      text: (
        <>
          <b className="strong">{plural(count, "job")}</b> {count === 1 ? "waits" : "wait"} for over a minute
        </>
      ),
      note: "open one to see what it waits for",
      act: { label: "Why", href: "/jobs?state=pending&until=1m" },
    },
  ];
}

function useKeysDue(maySee: boolean): Item[] {
  const load = async () => (maySee ? (await callHub(routes.listKeys, {})).body.keys : []);
  const now = useNow();
  const active = useQuery(maySee ? "keys" : "no keys", load, { everyMs: 60_000 }).data?.find(
    ({ status }) => status === "active",
  );
  if (active === undefined) return [];
  const dueAt = active.not_before + rotationDueMs;
  if (dueAt - now > dueMs) return [];
  return [
    {
      key: "key",
      state: "assigned",
      icon: <Icon name="key" />,
      text: (
        <>
          Signing key is{" "}
          <b className="strong">
            due {dueAt < now ? "now" : `in ${plural(Math.ceil((dueAt - now) / dayMs), "day")}`}
          </b>
        </>
      ),
      note: active.key_id,
      act: { label: "Rotate", href: "/access" },
    },
  ];
}

function useCertsDue(maySee: boolean): Item[] {
  const load = async () => (maySee ? readCerts() : []);
  const now = useNow();
  const { data } = useQuery(maySee ? "certs" : "no certs", load, { everyMs: 60_000 });
  return certsDue(data ?? [], now).map(({ serial, kind, user_id, expires_at }) => ({
    key: `certificate ${serial}`,
    state: "assigned",
    icon: <Icon name="lock" />,
    text: (
      <>
        Certificate of <b className="strong">{user_id ?? `the ${kind}`}</b>{" "}
        {expires_at <= now ? "has expired" : `expires in ${durationText(expires_at - now)}`}
      </>
    ),
    note: kind === "client" ? "issue a new one with writ certs issue" : "renew it with writ certs renew",
    act: { label: "Show", href: "/access" },
  }));
}

function useAlertChannels(maySee: boolean): Item[] {
  const load = async () =>
    maySee ? (await callHub(routes.getLockdown, {})).body.alert_channels : ["unknown"];
  const channels = useQuery(maySee ? "alert channels" : "no alert channels", load, { everyMs: 60_000 }).data;
  if (channels === undefined || channels.length > 0) return [];
  return [
    {
      key: "alerts",
      state: "assigned",
      icon: <Icon name="warning" />,
      text: "Nobody would be told of a HIGH alert",
      note: "no Telegram, mail or webhook is set",
      act: { label: "How", href: "/access" },
    },
  ];
}
