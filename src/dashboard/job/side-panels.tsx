import type { ReactNode } from "react";
import type { JobView } from "../../contract/view-shapes.ts";
import { ranMs } from "../jobs/row-text.tsx";
import { bytesText, durationText, momentText, wholeMomentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";

/** What was used, beside what may be used. */
export function ResourcesPanel({ job, now }: { job: JobView; now: number }) {
  const { usage, limits } = job;
  const ran = ranMs(job, now);
  const memory = usage?.memory_peak_bytes;
  const memoryMax = bytesIn(limits?.memory);
  const cpuMs = usage?.cpu_ms;
  const cpuMax = coresIn(limits?.cpu);
  if (ran === null && memory === undefined && limits === null) return null;
  return (
    <section className="panel">
      <header>
        <h2>Resources</h2>
        <span className="grow" />
        <span className="dimmer small-text">
          {usage === null ? "limits" : `attempt ${job.attempt}, limit`}
        </span>
      </header>
      <div className="meters">
        {memory === undefined && memoryMax === null ? null : (
          <Meter
            name="Memory"
            used={memory}
            max={memoryMax}
            isFull={usage?.oom === true}
            text={
              memory === undefined
                ? `up to ${bytesText(memoryMax ?? 0)}`
                : `peak ${bytesText(memory)}${memoryMax === null ? "" : ` of ${bytesText(memoryMax)}`}`
            }
          />
        )}
        {cpuMs === undefined && cpuMax === null ? null : (
          <Meter
            name="CPU"
            used={cpuMs === undefined || ran === null || ran === 0 ? undefined : cpuMs / ran}
            max={cpuMax}
            text={
              cpuMs === undefined || ran === null || ran === 0
                ? `up to ${limits?.cpu} cores`
                : `${(cpuMs / ran).toFixed(2)} ${cpuMax === null ? "cores" : `of ${cpuMax} cores`}`
            }
          />
        )}
        {limits?.pids === undefined ? null : (
          <Meter name="Processes" used={undefined} max={null} text={`up to ${limits.pids}`} />
        )}
        {ran === null ? null : (
          <Meter
            name="Time"
            isPlain
            used={ran}
            max={job.timeout_sec === 0 ? null : job.max_runtime_ms}
            text={`${durationText(ran)}${job.timeout_sec === 0 ? ", no limit" : ` of ${durationText(job.max_runtime_ms)}`}`}
          />
        )}
      </div>
    </section>
  );
}

type MeterProps = {
  name: string;
  text: string;
  used: number | undefined;
  max: number | null;
  isFull?: boolean;
  isPlain?: boolean;
};

function Meter({ name, text, used, max, isFull = false, isPlain = false }: MeterProps) {
  const percent =
    used === undefined || max === null || max === 0 ? null : Math.min(100, Math.round((used / max) * 100));
  return (
    <div className={isFull ? "full" : undefined}>
      <span className="dim">{name}</span>
      <span className="num">{isFull ? <b className="strong alarm-text">{text}, full</b> : text}</span>
      {percent === null ? null : (
        <span
          className={isPlain ? "meter plain-meter" : "meter"}
          role="meter"
          aria-label={name}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ width: `${percent}%` }} />
        </span>
      )}
    </div>
  );
}

const unitBytes: Record<string, number> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

function bytesIn(limit: string | undefined): number | null {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([KMGT]?)i?B?$/.exec(limit ?? "") ?? [];
  return number === undefined ? null : Number(number) * (unitBytes[unit ?? ""] ?? 1);
}

function coresIn(limit: string | undefined): number | null {
  if (limit === undefined || limit === "max") return null;
  return limit.endsWith("m") ? Number(limit.slice(0, -1)) / 1000 : Number(limit);
}

const partWords: Record<string, string> = {
  cgroup: "own cgroup",
  namespaces: "own pid, ipc, uts",
  "namespaces: user": "own user namespace",
  jail: "read-only jail",
  user: "user of its own",
  capabilities: "no capabilities",
  no_new_privs: "no new privileges",
  seccomp: "seccomp filter",
  network: "no network",
  idmap: "mapped mounts",
};
const limitWords = ["cpu", "memory", "io", "pids"];

/** What really stood between the job and its host. */
export function IsolationPanel({ job }: { job: JobView }) {
  const { isolation } = job;
  if (isolation === null) return null;
  const parts = isolation.applied.filter((part) => !limitWords.includes(part));
  const limited = isolation.applied.filter((part) => limitWords.includes(part));
  const isStrict = isolation.level === "strict";
  return (
    <section className="panel">
      <header>
        <h2>Isolation</h2>
        <span className="grow" />
        <span className="state" data-state={isStrict ? "completed" : "assigned"}>
          <Icon name={isStrict ? "lock" : "warning"} />
          {isolation.level}
        </span>
      </header>
      <ul className="isolation">
        {parts.map((part) => (
          <li key={part}>
            <Icon name="check" />
            {partWords[part] ?? part}
          </li>
        ))}
        {isolation.missing.map(({ part, why }) => (
          <li key={part} className="lacking">
            <Icon name="warning" />
            <span>
              without {partWords[part] ?? part}: {why}
            </span>
          </li>
        ))}
        {limited.length === 0 ? null : (
          <li className="wide">
            <Icon name="check" />
            limits on {limited.join(", ")}
          </li>
        )}
      </ul>
    </section>
  );
}

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
    [
      "Retry",
      `${job.max_attempts} attempts, ${job.timeout_sec === 0 ? "no time limit" : `${durationText(job.max_runtime_ms)} each`}`,
    ],
    ["Key", job.idempotency_key === job.id ? null : job.idempotency_key],
  ];
  return (
    <section className="panel">
      <header>
        <h2>Details</h2>
      </header>
      <dl className="facts">
        <dt>Id</dt>
        <dd className="mono cut" title={job.id}>
          {job.id}
        </dd>
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
      <dd className="cut" dir="auto">
        {children}
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
