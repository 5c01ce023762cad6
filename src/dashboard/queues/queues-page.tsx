import { routes } from "../../contract/routes.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { showToast } from "../shell/toasts.tsx";
import { QuotasPanel } from "./quotas-panel.tsx";

type Queue = Awaited<ReturnType<typeof readQueues>>[number];

export function QueuesPage() {
  const may = mayOf(usePerson());
  const { data, error, at, reload } = useQuery("queues", readQueues, {
    everyMs: 5_000,
    when: ({ events }) => events.size > 0,
  });
  return (
    <>
      <div className="top">
        <h1>Queues</h1>
        <span className="dim not-phone">
          tenants take turns; within a tenant the higher priority goes first
        </span>
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {data === undefined && error === undefined ? <SkeletonRows count={4} /> : null}
        {data === undefined ? null : (
          <QueueTable queues={data} mayPause={may.administerHub} onDone={reload} />
        )}
        <QuotasPanel mayChange={may.administerHub} />
      </div>
    </>
  );
}

async function readQueues() {
  const { body } = await callHub(routes.listQueues, {});
  return [...body].sort((a, b) => b.pending + b.active - (a.pending + a.active));
}

function QueueTable({
  queues,
  mayPause,
  onDone,
}: {
  queues: Queue[];
  mayPause: boolean;
  onDone: () => void;
}) {
  return (
    <section className="panel">
      <header>
        <h2>Types</h2>
        <span className="grow">{plural(queues.length, "queue")}, the busiest first</span>
      </header>
      {queues.length === 0 ? (
        <p className="nothing dimmer">Nothing waits and nothing runs.</p>
      ) : (
        <table className="why queues">
          <thead>
            <tr>
              <th>Type</th>
              <th>Tenant</th>
              <th className="num">Waiting</th>
              <th className="num">Running</th>
              <th>State</th>
              <th>
                <span className="only-read">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {queues.map((queue) => (
              <tr key={`${queue.tenant_id} ${queue.type}`}>
                <td className="strong">
                  <a href={`/jobs?state=pending,assigned,running&type=${encodeURIComponent(queue.type)}`}>
                    {queue.type}
                  </a>
                </td>
                <td className="dim">{queue.tenant_id ?? "–"}</td>
                <td className="num">{countText(queue.pending)}</td>
                <td className="num">{countText(queue.active)}</td>
                <td>
                  <span className="state" data-state={queue.paused ? "assigned" : "completed"}>
                    <Icon name={queue.paused ? "pause" : "active"} />
                    {queue.paused ? "Paused" : "Open"}
                  </span>
                </td>
                <td className="num">
                  {mayPause ? (
                    <button
                      type="button"
                      className="button small"
                      onClick={() => void setPaused(queue, !queue.paused, onDone)}
                    >
                      {queue.paused ? "Resume" : "Pause"}
                    </button>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Pausing can be undone, so it happens at once. It holds a type for all tenants. */
async function setPaused(queue: Queue, paused: boolean, onDone: () => void): Promise<void> {
  const { type } = queue;
  try {
    await callHub(routes.setQueuePaused, { params: { type }, body: { paused } });
    onDone();
    showToast({
      icon: paused ? "pause" : "active",
      text: paused ? `${type} is paused` : `${type} is open again`,
      note: paused ? "for all tenants; what runs is not touched" : undefined,
      act: paused ? { label: "Undo", run: () => void setPaused(queue, false, onDone) } : undefined,
    });
  } catch (error) {
    showToast({ icon: "warning", text: `${type} was not changed`, note: errorText(error) });
  }
}
