import type { ReactNode } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { isRegistered } from "../hub/workers.ts";
import { ranText } from "../jobs/row-text.tsx";
import { ageText, bytesText, countText, plural, shortId } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";
import { Spark } from "../parts/spark.tsx";
import { StateIcon } from "../parts/state.tsx";
import { BlockText, blockLink } from "./blocks.tsx";
import type { Sample } from "./load-history.ts";
import { askToBlock, askToRemove, drain, undrain } from "./worker-acts.tsx";

const jobsShown = 5;

export function WorkerDetail({
  worker,
  history,
  block,
  now,
  mayAct,
  onDone,
}: {
  worker: WorkerView;
  history: readonly Sample[];
  /** The record of its block, if it is blocked and the person may see that. */
  block: AuditView | undefined;
  now: number;
  mayAct: boolean;
  onDone: () => void;
}) {
  return (
    <div className="worker-detail" role="row">
      <div role="cell">
        <h3>Running{worker.current_jobs === null ? "" : `, ${worker.current_jobs}`}</h3>
        <RunningJobs worker={worker} now={now} />
      </div>
      <div role="cell">
        <SlotsInUse worker={worker} history={history} />
      </div>
      <div role="cell">
        <h3>About</h3>
        <dl className="facts">
          {worker.status === "blocked" && block !== undefined ? (
            <Fact name="Blocked">
              <BlockText record={block} now={now} />{" "}
              <a className="underlined" href={blockLink(block)}>
                Audit record
              </a>
            </Fact>
          ) : null}
          {isRegistered(worker) ? (
            <RegisteredFacts worker={worker} now={now} />
          ) : (
            <Fact name="Registered">no: the hub knows only its name</Fact>
          )}
        </dl>
        {mayAct ? <WorkerActs worker={worker} onDone={onDone} /> : null}
      </div>
    </div>
  );
}

function SlotsInUse({ worker, history }: { worker: WorkerView; history: readonly Sample[] }) {
  const { slots, job_counts } = worker;
  return (
    <>
      <h3>Slots in use, 1 hour</h3>
      {history.length < 2 ? (
        <p className="dimmer">no data</p>
      ) : (
        <Spark
          values={history.map(({ slots_used }) => slots_used)}
          colour="var(--running-mark)"
          max={slots}
          width={320}
          height={64}
        />
      )}
      {isRegistered(worker) && job_counts !== null ? (
        <>
          <h3>Since it was registered</h3>
          <p className="dim">
            {countText(job_counts.completed)} completed, {countText(job_counts.failed)} failed
          </p>
        </>
      ) : null}
    </>
  );
}

function WorkerActs({ worker, onDone }: { worker: WorkerView; onDone: () => void }) {
  return (
    <div className="row detail-acts">
      {worker.status === "draining" ? (
        <button type="button" className="button small" onClick={() => void undrain(worker, onDone)}>
          Work again
        </button>
      ) : (
        <button type="button" className="button small" onClick={() => void drain(worker, onDone)}>
          Drain
        </button>
      )}
      {worker.status === "blocked" ? null : (
        <button type="button" className="button small danger" onClick={() => askToBlock(worker, onDone)}>
          Block…
        </button>
      )}
      {worker.status === "inactive" || worker.status === "blocked" ? (
        <button
          type="button"
          className="button small danger"
          onClick={() => askToRemove(worker, onDone)}
          aria-label={`Remove ${worker.id}`}
        >
          Remove…
        </button>
      ) : null}
    </div>
  );
}

/** What the worker reported when it registered. */
function RegisteredFacts({ worker, now }: { worker: WorkerView; now: number }) {
  const { kinds, types, capabilities, containers, metrics } = worker;
  const last = metrics.at(-1);
  return (
    <>
      <Fact name="Id">{worker.id}</Fact>
      <Fact name="Tags">{worker.tags.join(", ")}</Fact>
      <Fact name="Version">{worker.version ?? "not said"}</Fact>
      <Fact name="Registered">{ageText(now - worker.registered_at)} ago</Fact>
      <Fact name="Kinds">{kinds === undefined ? "not said" : kinds.join(", ") || "none"}</Fact>
      <Fact name="Types">{types.join(", ") || "all"}</Fact>
      <Fact name="Models">
        {capabilities.map(({ provider, model }) => `${provider} ${model}`).join(", ") || "none"}
      </Fact>
      <Fact name="Containers">{containers?.join(", ")}</Fact>
      <Fact name="Disk free">{last === undefined ? undefined : bytesText(last.disk_free_bytes)}</Fact>
      <Fact name="Isolation">{isolationText(worker)}</Fact>
      <Fact name="Sandbox">{worker.sandbox_problem ?? undefined}</Fact>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === undefined || children === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{typeof children === "string" ? <PlainText text={children} /> : children}</dd>
    </>
  );
}

function isolationText({ isolation }: WorkerView): string {
  if (isolation === null || isolation === undefined) return "not said";
  const lacks = isolation.missing.map(({ part }) => part).join(", ");
  return lacks === "" ? isolation.level : `${isolation.level}, without ${lacks}`;
}

function RunningJobs({ worker, now }: { worker: WorkerView; now: number }) {
  const { id } = worker;
  const { data } = useQuery(
    `running on ${id}`,
    async () =>
      (
        await callHub(pageRoutes.listJobs, {
          query: { worker_id: id, status: ["assigned", "running"], limit: jobsShown },
        })
      ).body,
    { everyMs: 30_000, when: ({ events }) => [...events.values()].some(({ worker_id }) => worker_id === id) },
  );
  const rest = (worker.current_jobs ?? 0) - (data?.length ?? 0);
  return (
    <ul>
      {data?.map((job) => (
        <li key={job.id}>
          <span className="state" data-state={job.status}>
            <StateIcon state={job.status} />
          </span>
          <a className="cut" href={`/jobs/${job.id}`}>
            <b className="strong">
              <bdi>{job.type}</bdi>
            </b>{" "}
            <span className="mono dimmer">{shortId(job.id)}</span>
          </a>
          <span className="grow" />
          <span className="dim">{ranText(job, now)}</span>
        </li>
      ))}
      {data !== undefined && rest > 0 ? (
        <li>
          <a
            className="dim underlined"
            href={`/jobs?state=assigned,running&worker=${encodeURIComponent(id)}`}
          >
            {plural(rest, "more job")}
          </a>
        </li>
      ) : null}
      {(worker.current_jobs ?? data?.length) === 0 ? <li className="dimmer">nothing</li> : null}
    </ul>
  );
}
