import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { FindField, useWords } from "../parts/find-field.tsx";
import { countText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { askToPauseType } from "./pause-queue.tsx";
import { type Queue, QueueTable } from "./queue-table.tsx";
import { QuotasPanel } from "./quotas-panel.tsx";

/** For ages, which change without an event; the stream tells when a queue can have changed. */
const everyMs = 30_000;
const whenMs = 2_000;

export function QueuesPage() {
  const may = mayOf(usePerson());
  const words = useWords();
  const { data, error, at, reload } = useQuery("queues", readQueues, {
    everyMs,
    whenMs,
    when: ({ events, parts }) => events.size > 0 || parts.has("queues"),
  });
  const shown = data?.filter(({ type, tenant_id }) =>
    `${tenant_id ?? ""} ${type}`.toLowerCase().includes(words),
  );
  return (
    <>
      <div className="top">
        <h1>Queues</h1>
        <span className="grow dim cut not-phone">{data === undefined ? "" : summaryText(data)}</span>
        <span className="grow phone-only" />
        {may.administerHub ? (
          <button type="button" className="button" onClick={() => askToPauseType(reload)}>
            <Icon name="pause" />
            Pause a type…
          </button>
        ) : null}
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {data === undefined && error === undefined ? <SkeletonRows count={6} /> : null}
        {data !== undefined && data.length > 0 ? (
          <FindField label="Filter queues" placeholder="Type or tenant" />
        ) : null}
        {shown === undefined ? null : data?.length === 0 ? (
          <Empty icon={<Icon name="queues" />} title="Nothing waits and nothing runs">
            <p>The first job of a type makes its queue.</p>
          </Empty>
        ) : shown.length === 0 ? (
          <Empty icon={<Icon name="search" />} title="No queue matches">
            <a className="button" href="/queues">
              Show all queues
            </a>
          </Empty>
        ) : (
          <QueueTable queues={shown} mayPause={may.administerHub} onDone={reload} />
        )}
        <QuotasPanel mayChange={may.administerHub} />
      </div>
    </>
  );
}

/** In an order that does not depend on the counts, so that no row moves under the pointer. */
async function readQueues(): Promise<Queue[]> {
  const { body } = await callHub(pageRoutes.listQueues, {});
  // A type that is paused and has no jobs belongs to no tenant; those come last.
  const key = ({ tenant_id, type }: Queue) => `${tenant_id === null ? "1" : "0"} ${tenant_id ?? ""} ${type}`;
  return [...body].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function summaryText(queues: Queue[]): string {
  const waiting = queues.reduce((sum, { pending, scheduled = 0 }) => sum + pending - scheduled, 0);
  const running = queues.reduce((sum, { active }) => sum + active, 0);
  const paused = new Set(queues.filter((queue) => queue.paused).map(({ type }) => type)).size;
  const types = paused === 0 ? "" : ` · ${paused} ${paused === 1 ? "type" : "types"} paused`;
  return `${countText(waiting)} waiting · ${countText(running)} running${types}`;
}
