import { Fragment, useState } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { AuditCheckView } from "../../contract/shapes/audit-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { countText, durationText, momentText, plural } from "../parts/format.ts";
import { Icon, Seal } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { StateIcon } from "../parts/state.tsx";
import { chainBlocks, percentDone } from "./chain-blocks.ts";

/** How often the state of the check is read while one runs, and otherwise: another person or the hub may start one. */
const runningMs = 1_000;
const restingMs = 30_000;

type Verdict = NonNullable<AuditCheckView["verdict"]>;

/** Whether every record fits the one before it, as the hub's last check found, and a button for another check. */
export function ChainCard() {
  const {
    data: check,
    error,
    at,
    reload,
  } = useQuery("audit check", readCheck, {
    everyMs: (data) => (data?.status === "running" ? runningMs : restingMs),
  });
  const [refusal, setRefusal] = useState<unknown>(undefined);
  const verify = async () => {
    try {
      await callHub(pageRoutes.verifyAudit, {});
      setRefusal(undefined);
    } catch (problem) {
      setRefusal(problem);
    }
    reload();
  };
  const isRunning = check?.status === "running";
  return (
    <>
      <ErrorBand error={error ?? refusal} at={at} onRetry={reload} />
      <section className="panel" aria-label="Chain of the audit trail">
        <header>
          <h2>Chain</h2>
          <span className="grow" />
          {check === undefined ? null : <ChainState check={check} />}
        </header>
        <div className="chain" aria-hidden="true">
          {chainBlocks(check).map(({ kind, isHead, from }) => (
            <i key={from} className={isHead ? `${kind} signed-head` : kind} />
          ))}
        </div>
        <p className="panel-text dim" role="status">
          {check === undefined ? "" : sentence(check)}
        </p>
        {check?.verdict ? <Findings check={check} verdict={check.verdict} /> : null}
        <div className="panel-acts">
          <button type="button" className="button small" disabled={isRunning} onClick={() => void verify()}>
            {isRunning ? "Verifying…" : "Verify now"}
          </button>
        </div>
      </section>
    </>
  );
}

async function readCheck(): Promise<AuditCheckView> {
  return (await callHub(pageRoutes.getAuditCheck, {})).body;
}

function ChainState({ check }: { check: AuditCheckView }) {
  if (check.status === "none") return <span className="dimmer small-text">not checked yet</span>;
  if (check.status === "running") {
    return (
      <span className="state" data-state="running">
        <StateIcon state="running" />
        {percentDone(check)} %
      </span>
    );
  }
  if (check.verdict?.ok) {
    return (
      <span className="state" data-state="completed">
        <Seal kind="seal-ok" />
        whole
      </span>
    );
  }
  return (
    <span className="state" data-state="failed">
      <Icon name="warning" />
      {check.status === "failed" ? "not readable" : "damaged"}
    </span>
  );
}

function sentence({ status, through, last, reason, verdict }: AuditCheckView): string {
  if (status === "none")
    return "Each record contains the hash of the one before it, and the hub signs the newest.";
  if (status === "running") return `Checking record ${countText(through)} of ${countText(last)}.`;
  if (verdict === null) return `The check could not be finished: ${reason ?? "the hub does not say why"}.`;
  if (verdict.ok && (verdict.unchecked ?? []).length > 0)
    return `${plural(verdict.records, "record")} fit together; not everything could be checked at this hub.`;
  if (verdict.ok) return `All ${plural(verdict.records, "record")} fit together, from the first to the last.`;
  const count = verdict.more
    ? `More than ${plural(verdict.faults.length, "fault")}`
    : plural(verdict.faults.length, "fault");
  return `${count}: somebody has changed or removed records, or the disk has.`;
}

function Findings({ check, verdict }: { check: AuditCheckView; verdict: Verdict }) {
  const { started_at, ended_at } = check;
  const waiting = verdict.unsealed === 0 ? "" : `; ${countText(verdict.unsealed)} not sealed yet`;
  return (
    <>
      {verdict.faults.length === 0 ? null : (
        <ul className="faults">
          {verdict.faults.map(({ seq, what }) => (
            <li key={`${seq} ${what}`}>
              <Icon name="warning" />
              <span>
                {seq === null ? null : (
                  <a className="strong underlined" href={`/audit?record=${seq}`}>
                    Record {countText(seq)}
                  </a>
                )}{" "}
                {what}
              </span>
            </li>
          ))}
        </ul>
      )}
      <dl className="facts">
        <dt>Records</dt>
        <dd>
          {countText(verdict.first)} to {countText(verdict.last)}
          {waiting}
        </dd>
        <dt>Signed</dt>
        <dd>
          {verdict.signed_through === 0 ? "none yet" : `to record ${countText(verdict.signed_through)}`}
        </dd>
        {(verdict.unchecked ?? []).map((what) => (
          <Fragment key={what}>
            <dt>Not checked</dt>
            <dd>{what}</dd>
          </Fragment>
        ))}
        {ended_at === null || started_at === null ? null : (
          <>
            <dt>Checked</dt>
            <dd>
              {momentText(ended_at)}, in {durationText(ended_at - started_at)}
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
