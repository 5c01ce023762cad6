import { Fragment } from "react";
import type { z } from "zod";
import type { queueView } from "../../contract/shapes/admin-shapes.ts";
import { countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { setPaused } from "./pause-queue.tsx";

export type Queue = z.infer<typeof queueView>;

type Props = { queues: Queue[]; mayPause: boolean; onDone: () => void };

/** Waiting and running jobs, tenant by tenant and type by type. */
export function QueueTable({ queues, mayPause, onDone }: Props) {
  const tenants = [...new Set(queues.map(({ tenant_id }) => tenant_id))];
  const most = Math.max(1, ...queues.map(waitingIn));
  return (
    <section className="panel">
      <table className="rows queues">
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Waiting</th>
            <th scope="col" className="num">
              Running
            </th>
            <th scope="col" className="not-phone">
              State
            </th>
            <th scope="col">
              <span className="only-read">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tenants.map((tenant) => {
            const rows = queues.filter(({ tenant_id }) => tenant_id === tenant);
            return (
              <Fragment key={tenant ?? ""}>
                <tr className="group">
                  <th scope="rowgroup" colSpan={5}>
                    <b>{tenant ?? "No jobs"}</b>{" "}
                    {tenant === null ? "paused before any was submitted" : plural(rows.length, "queue")}
                  </th>
                </tr>
                {rows.map((queue) => (
                  <QueueRow key={queue.type} queue={queue} most={most} mayPause={mayPause} onDone={onDone} />
                ))}
              </Fragment>
            );
          })}
        </tbody>
      </table>
      <p className="table-foot">Tenants take turns; within a tenant the higher priority goes first.</p>
    </section>
  );
}

/** Scheduled jobs are not waiting, because they are not due. */
function waitingIn({ pending, scheduled = 0 }: Queue): number {
  return pending - scheduled;
}

function QueueRow(props: { queue: Queue; most: number; mayPause: boolean; onDone: () => void }) {
  const { queue, most, mayPause, onDone } = props;
  const { type, active, paused, scheduled = 0 } = queue;
  const pending = waitingIn(queue);
  return (
    <tr>
      <td className="strong">
        <a href={`/jobs?state=pending,assigned,running&type=${encodeURIComponent(type)}`}>
          <bdi>{type}</bdi>
        </a>
        {paused ? <small className="phone-only paused-note">Paused</small> : null}
      </td>
      <td>
        <span className="waiting-bar">
          <span className={pending === 0 ? "num dimmer" : "num"}>{countText(pending)}</span>{" "}
          {scheduled === 0 ? null : (
            <a className="dimmer small-text" href={`/jobs?state=scheduled&type=${encodeURIComponent(type)}`}>
              {countText(scheduled)} scheduled
            </a>
          )}
          {pending === 0 ? null : (
            <span className="meter" aria-hidden="true">
              <i style={{ width: `${Math.round((pending / most) * 100)}%` }} />
            </span>
          )}
        </span>
      </td>
      <td className={active === 0 ? "num dimmer" : "num"}>{countText(active)}</td>
      <td className="not-phone">
        {paused ? (
          <span className="state" data-state="assigned">
            <Icon name="pause" />
            Paused
          </span>
        ) : (
          <span className="dim">Open</span>
        )}
      </td>
      <td className="num">
        {mayPause ? (
          <button
            type="button"
            className="button small"
            aria-label={`${paused ? "Resume" : "Pause"} ${type}`}
            onClick={() => void setPaused(type, !paused, onDone)}
          >
            {paused ? "Resume" : "Pause"}
          </button>
        ) : null}
      </td>
    </tr>
  );
}
