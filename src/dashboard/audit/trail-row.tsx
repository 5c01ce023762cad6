import type { ReactNode } from "react";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import { countText, momentText, wholeMomentText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { SeverityBadge } from "../parts/severity.tsx";
import { trailText } from "./trail-text.ts";

type Props = { record: AuditView; isOpen: boolean; onToggle: () => void };

export function TrailRow({ record, isOpen, onToggle }: Props) {
  const { seq, timestamp, severity, event } = record;
  const at = Date.parse(timestamp);
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the row's button does the same for the keyboard */}
      <div className={isOpen ? "trail-row is-open" : "trail-row"} role="row" onClick={onToggle}>
        <span className="dim" role="cell" title={wholeMomentText(at)}>
          {momentText(at)}
        </span>
        <span role="cell">
          <SeverityBadge severity={severity} />
        </span>
        <span className="cut strong" role="cell">
          <PlainText text={whoText(record)} />
        </span>
        <span className="what cut" role="cell">
          <PlainText text={trailText(record)} />
          <small>{event}</small>
        </span>
        <span className="num mono" role="cell">
          <button
            type="button"
            className="open-row dimmer"
            aria-expanded={isOpen}
            aria-label={`Record ${seq}`}
            onClick={(click) => {
              click.stopPropagation();
              onToggle();
            }}
          >
            {countText(seq)}
          </button>
        </span>
      </div>
      {isOpen ? <RecordDetail record={record} /> : null}
    </>
  );
}

function whoText({ event, user_id, ip_address, details }: AuditView): string {
  const worker = details["worker_id"];
  if (user_id !== null) return user_id;
  // The worker that the record names is the one that was blocked.
  if (event === "WORKER_BLOCKED") return "hub";
  if (ip_address !== null) return "unknown";
  return typeof worker === "string" && worker !== "" ? worker : "hub";
}

/** Everything that the record holds, as text. */
function RecordDetail({ record }: { record: AuditView }) {
  const { ip_address, user_agent, tenant_id, job_id, owner_id, context, details, hash, prev_hash } = record;
  const route = `${context.method ?? ""} ${context.endpoint ?? ""}`.trim();
  return (
    <div className="record" role="row">
      <div role="cell" className="record-columns">
        <dl className="facts">
          <Fact name="At">{record.timestamp}</Fact>
          <Fact name="From">{ip_address ?? "the hub itself"}</Fact>
          {route === "" ? null : <Fact name="Call">{route}</Fact>}
          {user_agent === null ? null : <Fact name="Program">{user_agent}</Fact>}
          <Fact name="Tenant">{tenant_id ?? "none in particular"}</Fact>
          {record.event === "JOBS_CHANGED" ? (
            <>
              <dt>Its jobs</dt>
              <dd>
                <a
                  className="underlined"
                  href={`/audit?after=${Number(details["after_seq"])}&record=${record.seq - 1}`}
                >
                  The records of this act
                </a>
              </dd>
            </>
          ) : null}
          {owner_id === null ? null : <Fact name="Job of">{owner_id}</Fact>}
          {job_id === null ? null : (
            <>
              <dt>Job</dt>
              <dd className="wrapped">
                <a className="mono underlined" href={`/jobs/${job_id}`}>
                  {job_id}
                </a>
              </dd>
            </>
          )}
        </dl>
        <dl className="facts">
          {Object.entries(details).map(([name, value]) => (
            <Fact key={name} name={name} isCode>
              {typeof value === "string" ? value : JSON.stringify(value)}
            </Fact>
          ))}
        </dl>
        <dl className="facts hashes">
          <Fact name="Hash" isCode>
            {hash}
          </Fact>
          <Fact name="Before it" isCode>
            {prev_hash}
          </Fact>
        </dl>
      </div>
    </div>
  );
}

function Fact({ name, isCode = false, children }: { name: string; isCode?: boolean; children: ReactNode }) {
  return (
    <>
      <dt className="cut" title={name}>
        {name}
      </dt>
      <dd className={isCode ? "mono wrapped" : "wrapped"}>
        <PlainText text={String(children)} />
      </dd>
    </>
  );
}
