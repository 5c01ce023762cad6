import { useEffect, useState } from "react";
import type { AuditView } from "../../contract/audit-shapes.ts";
import { routes } from "../../contract/routes.ts";
import type { Severity } from "../../core/events.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { countText, momentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { SeverityBadge } from "../parts/severity.tsx";
import { go, usePlace, withQuery } from "../shell/router.ts";
import { trailText } from "./trail-text.ts";

const severities: { label: string; value: Severity | null }[] = [
  { label: "All", value: null },
  { label: "Medium", value: "MEDIUM" },
  { label: "High", value: "HIGH" },
  { label: "Critical", value: "CRITICAL" },
];
const pageRows = 100;
const everyMs = 5_000;

type Page = { records: AuditView[]; next: number | undefined };
type Filter = { event?: string; user_id?: string; tenant_id?: string; job_id?: string };

export function AuditPage() {
  const place = usePlace();
  const severity =
    severities.find(({ value }) => value !== null && value === place.query.get("severity"))?.value ?? null;
  const words = place.query.get("q") ?? "";
  return (
    <>
      <div className="top">
        <h1>Audit</h1>
        <span className="grow" />
        <div className="segments" role="group" aria-label="Severity">
          {severities.map(({ label, value }) => (
            <button
              type="button"
              key={label}
              aria-pressed={value === severity}
              onClick={() => go(withQuery(place, { severity: value }), { replace: true })}
            >
              {label}
            </button>
          ))}
        </div>
      </div>
      <div className="page">
        <SearchBar words={words} />
        <Trail key={`${severity} ${words}`} severity={severity} words={words} />
      </div>
    </>
  );
}

function SearchBar({ words }: { words: string }) {
  const place = usePlace();
  const [typed, setTyped] = useState(words);
  useEffect(() => setTyped(words), [words]);
  return (
    <form
      className="bar"
      onSubmit={(event) => {
        event.preventDefault();
        go(withQuery(place, { q: typed.trim() }));
      }}
    >
      <label className="find">
        <Icon name="search" />
        <input
          value={typed}
          placeholder="actor:ops, event:LOGIN_FAILED, tenant:media, or the id of a job"
          aria-label="Search the audit trail"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
    </form>
  );
}

function Trail({ severity, words }: { severity: Severity | null; words: string }) {
  const { filter, unknown } = readTrailWords(words);
  const newest = useQuery(`audit ${severity} ${words}`, () => readTrail({ severity, filter }), {
    everyMs,
    when: ({ events }) => events.size > 0,
  });
  const [older, setOlder] = useState<Page>({ records: [], next: undefined });
  const [isOpen, setOpen] = useState<number | null>(null);
  if (newest.data === undefined) {
    return newest.error === undefined ? (
      <SkeletonRows count={10} />
    ) : (
      <ErrorBand error={newest.error} onRetry={newest.reload} />
    );
  }
  const first = newest.data.records;
  const lastShown = first.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
  const records = [...first, ...older.records.filter(({ seq }) => seq < lastShown)];
  const next = older.records.length === 0 ? newest.data.next : older.next;
  const readMore = async () => {
    const page = await readTrail({ severity, filter, cursor: next });
    setOlder({ records: [...older.records, ...page.records], next: page.next });
  };
  return (
    <>
      <ErrorBand error={newest.error} at={newest.at} onRetry={newest.reload} />
      {unknown === "" ? null : (
        <p className="problem">
          “{unknown}” is not understood: use actor:, event:, tenant: or a whole id of a job.
        </p>
      )}
      {records.length === 0 ? (
        <Empty icon={<Icon name="audit" />} title="No record matches">
          <a className="button" href="/audit">
            Show the whole trail
          </a>
        </Empty>
      ) : (
        <section className="panel" role="table" aria-label="Audit trail">
          <div className="trail-row head" role="row">
            <span role="columnheader">Time</span>
            <span role="columnheader">Severity</span>
            <span role="columnheader">Who</span>
            <span role="columnheader">What</span>
            <span role="columnheader" className="num">
              Record
            </span>
          </div>
          {records.map((record) => (
            <TrailRow
              key={record.seq}
              record={record}
              isOpen={isOpen === record.seq}
              onToggle={() => setOpen(isOpen === record.seq ? null : record.seq)}
            />
          ))}
          <div className="table-foot">
            <span>{countText(records.length)} shown, newest first</span>
            <span className="grow" />
            {next === undefined ? null : (
              <button type="button" className="button small" onClick={() => void readMore()}>
                Show older
              </button>
            )}
          </div>
        </section>
      )}
    </>
  );
}

function TrailRow({
  record,
  isOpen,
  onToggle,
}: {
  record: AuditView;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const { seq, timestamp, severity, user_id, event, job_id } = record;
  return (
    <>
      <div className="trail-row" role="row">
        <span className="dim" role="cell" title={timestamp}>
          {momentText(Date.parse(timestamp))}
        </span>
        <span role="cell">
          <SeverityBadge severity={severity} />
        </span>
        <span className="cut strong" role="cell">
          {user_id ?? (record.ip_address === null ? "hub" : "unknown")}
        </span>
        <span className="what cut" role="cell">
          <bdi>{trailText(record)}</bdi>
          <small>{event}</small>
        </span>
        <span className="num mono" role="cell">
          <button
            type="button"
            className="open-row dimmer"
            aria-expanded={isOpen}
            aria-label={`Record ${seq}`}
            onClick={onToggle}
          >
            {countText(seq)}
          </button>
        </span>
      </div>
      {isOpen ? (
        <div className="record" role="row">
          <dl className="facts" role="cell">
            <dt>From</dt>
            <dd>
              {record.ip_address ?? "the hub"} · {record.context.method ?? ""} {record.context.endpoint ?? ""}
            </dd>
            <dt>Program</dt>
            <dd className="cut">
              <bdi>{record.user_agent ?? "–"}</bdi>
            </dd>
            <dt>Tenant</dt>
            <dd>{record.tenant_id ?? "all"}</dd>
            {job_id === null ? null : (
              <>
                <dt>Job</dt>
                <dd>
                  <a className="mono underlined" href={`/jobs/${job_id}`}>
                    {job_id}
                  </a>
                </dd>
              </>
            )}
            <dt>Details</dt>
            <dd className="mono details">{JSON.stringify(record.details)}</dd>
            <dt>Hash</dt>
            <dd className="mono cut">{record.hash}</dd>
            <dt>Before it</dt>
            <dd className="mono cut">{record.prev_hash}</dd>
          </dl>
        </div>
      ) : null}
    </>
  );
}

async function readTrail(wanted: {
  severity: Severity | null;
  filter: Filter;
  cursor?: number | undefined;
}): Promise<Page> {
  const { severity, filter, cursor } = wanted;
  const query = {
    ...filter,
    limit: pageRows,
    ...(severity === null ? {} : { severity }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  // The hub knows which events there are; an unknown one is refused with a list of them.
  const { body, header } = await callHub(routes.searchAudit, { query: query as { event?: AuditEvent } });
  const next = header("x-next-cursor");
  return { records: body, next: next === undefined ? undefined : Number(next) };
}

type AuditEvent = "LOGIN_FAILED";

function readTrailWords(words: string): { filter: Filter; unknown: string } {
  const filter: Filter = {};
  const unknown: string[] = [];
  for (const word of words.split(/\s+/).filter((part) => part !== "")) {
    const [, name, value] = /^(actor|user|event|tenant):(.+)$/.exec(word) ?? [];
    if (name === "event") filter.event = value!.toUpperCase();
    else if (name === "tenant") filter.tenant_id = value!;
    else if (name !== undefined) filter.user_id = value!;
    else if (/^[0-9a-f-]{36}$/.test(word)) filter.job_id = word;
    else unknown.push(word);
  }
  return { filter, unknown: unknown.join(" ") };
}
