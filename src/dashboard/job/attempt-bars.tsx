import { useState } from "react";
import type { EventView, JobView } from "../../contract/view-shapes.ts";
import { durationText, momentText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { type Attempt, attemptsOf } from "./attempts.ts";

const shownMax = 12;
const ticks = 5;

/** When the job waited and ran, attempt by attempt, on one scale. */
export function AttemptBars({
  job,
  events,
  now,
}: {
  job: JobView;
  events: readonly EventView[];
  now: number;
}) {
  const [areEventsShown, setEventsShown] = useState(false);
  const attempts = attemptsOf(job, events);
  if (attempts.length === 0) return null;
  const from = job.created_at;
  const to = Math.max(from + 1, job.completed_at ?? now);
  const place = (ts: number) => ((Math.min(to, Math.max(from, ts)) - from) / (to - from)) * 100;
  return (
    <section className="panel">
      <header>
        <h2>Attempts</h2>
        <span className="grow">
          {durationText(to - from)}{" "}
          {job.completed_at === null ? "since it was submitted" : "from submission to end"}
        </span>
        <button
          type="button"
          className="button quiet small not-phone"
          aria-expanded={areEventsShown}
          onClick={() => setEventsShown(!areEventsShown)}
        >
          Events {events.length}
        </button>
      </header>
      <div className="timeline">
        {attempts.slice(-shownMax).map((attempt) => (
          <Bar key={attempt.number} attempt={attempt} place={place} now={now} />
        ))}
        <div className="axis" aria-hidden="true">
          {Array.from({ length: ticks }, (_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the marks of a scale have no other identity.
            <span key={index}>
              {axisText(from + ((to - from) * index) / (ticks - 1), { isLast: index === ticks - 1, job })}
            </span>
          ))}
        </div>
      </div>
      {areEventsShown ? <EventList events={events} /> : null}
    </section>
  );
}

function axisText(ms: number, { isLast, job }: { isLast: boolean; job: JobView }): string {
  return isLast && job.completed_at === null ? "now" : momentText(ms);
}

function Bar({ attempt, place, now }: { attempt: Attempt; place: (ts: number) => number; now: number }) {
  const { number, workerId, waitedFrom, claimedAt, endedAt, outcome, code } = attempt;
  const end = endedAt ?? now;
  const ran = durationText(end - claimedAt);
  const text = endedAt === null ? `waited ${durationText(claimedAt - waitedFrom)}, running` : ran;
  return (
    <div className="line">
      <span className="state cut" data-state={outcome}>
        <StateIcon state={outcome} />
        <span className="cut">
          {number} · {workerId}
        </span>
      </span>
      <span
        className="track"
        role="img"
        aria-label={`Attempt ${number}: waited ${durationText(claimedAt - waitedFrom)}, ran ${ran}`}
      >
        <i
          className="waiting"
          style={{ left: `${place(waitedFrom)}%`, width: `${place(claimedAt) - place(waitedFrom)}%` }}
        />
        <i
          className={endedAt === null ? "live" : undefined}
          data-state={outcome}
          style={{ left: `${place(claimedAt)}%`, width: `${place(end) - place(claimedAt)}%` }}
        />
      </span>
      <span className="cut dim">
        {code === null ? null : <span className="mono">{code} </span>}
        {text}
      </span>
    </div>
  );
}

function EventList({ events }: { events: readonly EventView[] }) {
  return (
    <ol className="events">
      {events.map(({ seq, event, ts, details }) => (
        <li key={seq}>
          <span className="dim">{momentText(ts)}</span>
          <span className="mono">{event}</span>
          <span className="cut dimmer">
            <PlainText text={detailText(details)} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function detailText(details: Record<string, unknown>): string {
  const shown = ["worker_id", "attempt", "fail_code", "reason", "progress"];
  return shown
    .filter((name) => details[name] !== undefined && details[name] !== null)
    .map((name) => `${name} ${String(details[name])}`)
    .join(", ");
}
