import { useState } from "react";
import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import { countText, durationText, momentText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { StateIcon } from "../parts/state.tsx";
import { type Attempt, attemptsOf } from "./attempts.ts";

const shownMax = 12;
/** More rows would slow the page down; the newest tell how the job ended. */
const listedMax = 1_000;
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
          {axisTexts(from, to, job.completed_at === null).map((text, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the marks of a scale have no other identity.
            <span key={index}>{text}</span>
          ))}
        </div>
      </div>
      {areEventsShown ? <EventList events={events} /> : null}
    </section>
  );
}

/** Below this, moments that are shown to the second would repeat. */
const clockMs = (ticks - 1) * 2_000;

/** The time of day at each mark. A short job has it at the first mark only, and the time since then at the others. */
export function axisTexts(from: number, to: number, isOpen: boolean): string[] {
  return Array.from({ length: ticks }, (_, index) => {
    const afterMs = ((to - from) * index) / (ticks - 1);
    if (isOpen && index === ticks - 1) return "now";
    if (index === 0 || to - from >= clockMs) return momentText(from + afterMs);
    return `+${shortText(afterMs)}`;
  });
}

/** Finer than `durationText`, whose tenths of a second can be the same for two marks. */
function shortText(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)}s`;
  return ms < 10 ? `${Number(ms.toFixed(1))}ms` : `${Math.round(ms)}ms`;
}

function Bar({ attempt, place, now }: { attempt: Attempt; place: (ts: number) => number; now: number }) {
  const { number, workerId, waitedFrom, claimedAt, startedAt, endedAt, outcome, code } = attempt;
  const end = endedAt ?? now;
  const waited = durationText(claimedAt - waitedFrom);
  const ran = durationText(end - startedAt);
  const text = endedAt === null ? `waited ${waited}, running` : `took ${ran}`;
  return (
    <div className="line">
      <span className="state cut" data-state={outcome}>
        <StateIcon state={outcome} />
        <span className="cut">
          {number} · {workerId}
        </span>
      </span>
      <span className="track" role="img" aria-label={`Attempt ${number}: waited ${waited}, took ${ran}`}>
        <i
          className="waiting"
          style={{ left: `${place(waitedFrom)}%`, width: `${place(claimedAt) - place(waitedFrom)}%` }}
        />
        {startedAt > claimedAt ? (
          <i
            className="handed"
            data-state="assigned"
            style={{ left: `${place(claimedAt)}%`, width: `${place(startedAt) - place(claimedAt)}%` }}
          />
        ) : null}
        <i
          className={endedAt === null ? "live" : undefined}
          data-state={outcome}
          style={{ left: `${place(startedAt)}%`, width: `${place(end) - place(startedAt)}%` }}
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
  const earlier = Math.max(0, events.length - listedMax);
  return (
    <ol className="events">
      {earlier === 0 ? null : (
        <li>
          <span className="dim">{countText(earlier)} earlier events: jobctl events lists them all</span>
        </li>
      )}
      {events.slice(-listedMax).map(({ seq, event, ts, details }) => (
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
