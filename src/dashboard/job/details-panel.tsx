import type { ReactNode } from "react";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { momentText, plural, wholeMomentText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { timeLimitText } from "./time-limit.ts";

export function DetailsPanel({ job }: { job: JobView }) {
  const rows: [string, ReactNode][] = [
    ["Submitted", `by ${job.user_id}, tenant ${job.tenant_id}`],
    [
      "At",
      <span title={wholeMomentText(job.created_at)} key="at">
        {momentText(job.created_at)}
      </span>,
    ],
    ["Kind", `${job.run?.kind ?? "handler"}, priority ${job.priority}`],
    ["Requires", requiresText(job)],
    ["Where", job.execution_location === "CLOUD" ? "cloud" : null],
    ["Retry", `${plural(job.max_attempts, "attempt")}, ${timeLimitText(job)}`],
    ["Key", job.idempotency_key === job.id ? null : job.idempotency_key],
  ];
  return (
    <section className="panel">
      <header>
        <h2>Details</h2>
      </header>
      <dl className="facts">
        <dt>Id</dt>
        <dd className="mono wrapped">{job.id}</dd>
        {rows
          .filter(([, value]) => value !== null && value !== "")
          .map(([name, value]) => (
            <FactRow key={name} name={name}>
              {value}
            </FactRow>
          ))}
      </dl>
    </section>
  );
}

function FactRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="wrapped" dir="auto">
        {typeof children === "string" ? <PlainText text={children} /> : children}
      </dd>
    </>
  );
}

function requiresText({ requires }: JobView): string {
  if (requires === null) return "";
  const { tags = [], session, cores, ram_gb } = requires;
  return [
    tags.length === 0 ? "" : `${tags.length === 1 ? "tag" : "tags"} ${tags.join(", ")}`,
    session === undefined ? "" : `session ${session}`,
    cores === undefined ? "" : `${cores} cores`,
    ram_gb === undefined ? "" : `${ram_gb} GB of memory`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}
