import type { StatisticsView } from "../../contract/routes/statistics-routes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { type Counts, sumCounts, useCounts } from "../hub/counts.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { type Range, useStatistics } from "../hub/statistics.ts";
import { useWorkers } from "../hub/workers.ts";
import { Seal } from "../parts/icon.tsx";
import { Command, Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { programName } from "../parts/program-name.ts";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { Attention } from "./attention.tsx";
import { CausesPanel, RecentFailures } from "./failure-panels.tsx";
import { FleetPanel } from "./fleet-panel.tsx";
import { FlowChart } from "./flow-chart.tsx";
import { Signals } from "./signals.tsx";
import { StatePanel } from "./state-panel.tsx";
import { TenantPicker } from "./tenant-picker.tsx";
import { TenantsPanel } from "./tenants-panel.tsx";

const ranges: { range: Range; label: string }[] = [
  { range: "15m", label: "15 min" },
  { range: "1h", label: "1 hour" },
  { range: "6h", label: "6 hours" },
  { range: "24h", label: "24 hours" },
  { range: "30d", label: "30 days" },
];

export function OverviewPage() {
  const address = usePageAddress();
  const may = mayOf(usePerson());
  const range = ranges.find((one) => one.range === address.query.get("range"))?.range ?? "1h";
  const tenant = may.administerHub ? (address.query.get("tenant") ?? undefined) : undefined;
  const { data: statistics, error, at, reload } = useStatistics(range, { maySee: may.seeFleet, tenant });
  const counts = useCounts();
  const workers = useWorkers(may.seeFleet, { isLoadShown: true }).data;
  const isNew = counts !== undefined && sumCounts(counts).count === 0;
  return (
    <>
      <div className="top">
        <h1>Overview</h1>
        <span className="grow" />
        {may.seeFleet && !isNew ? <RangePicker range={range} /> : null}
        {may.administerHub ? <TenantPicker tenant={tenant} /> : null}
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {isNew ? <FirstSteps mayAct={may.act} workers={workers?.length} maySeeFleet={may.seeFleet} /> : null}
        {statistics === undefined && error === undefined ? <SkeletonRows count={4} /> : null}
        <Figures statistics={isNew ? undefined : statistics} counts={counts} workers={workers} />
        <div className={may.seeFleet && !isNew ? "columns columns-even" : "columns"}>
          {may.seeFleet ? <FleetPanel workers={workers} /> : null}
          {isNew || !may.seeFleet || !statistics ? null : <CausesPanel statistics={statistics} />}
          {isNew || may.seeFleet ? null : <RecentFailures />}
        </div>
        {may.administer ? <TenantsPanel mayPick={may.administerHub} /> : null}
      </div>
    </>
  );
}

function RangePicker({ range }: { range: Range }) {
  const address = usePageAddress();
  return (
    <div className="segments not-phone" role="group" aria-label="Range">
      {ranges.map(({ range: one, label }) => (
        <button
          type="button"
          key={one}
          aria-pressed={one === range}
          onClick={() => go(withQuery(address, { range: one === "1h" ? null : one }), { replace: true })}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

type FiguresProps = {
  /** Undefined until they are read, and if there are none; null for a person who may not see them. */
  statistics: StatisticsView | null | undefined;
  counts: Counts | undefined;
  /** Undefined until they are read. */
  workers: readonly WorkerView[] | undefined;
};

function Figures({ statistics, counts, workers }: FiguresProps) {
  const attention = <Attention counts={counts} statistics={statistics} workers={workers} />;
  if (statistics === undefined) return attention;
  if (statistics === null) {
    return (
      <div className="columns columns-flow">
        <StatePanel counts={counts} />
        {attention}
      </div>
    );
  }
  return (
    <>
      <Signals statistics={statistics} />
      <div className="columns columns-flow">
        <FlowChart statistics={statistics} />
        {attention}
      </div>
    </>
  );
}

/** For a hub that has run nothing yet: the next command. Why: ADR 0067. */
function FirstSteps({
  mayAct,
  workers,
  maySeeFleet,
}: {
  mayAct: boolean;
  workers: number | undefined;
  maySeeFleet: boolean;
}) {
  const listens =
    workers === undefined
      ? ""
      : workers === 0
        ? "No worker listens yet."
        : workers === 1
          ? "One worker listens."
          : `${workers} workers listen.`;
  return (
    <Empty icon={<Seal kind="seal-wait" />} title="This hub is ready">
      <p>
        {maySeeFleet
          ? `${listens} Give it something to do; it shows up here at once.`
          : "Give it something to do; it shows up here at once."}
      </p>
      {mayAct ? <Command text={`${programName("jobctl")} run echo hello`} /> : null}
      <div className="row">
        {maySeeFleet && workers === 0 ? (
          <a className="button main" href="/fleet">
            Add a worker
          </a>
        ) : mayAct ? (
          <a className="button main" href="/submit">
            Submit a job
          </a>
        ) : null}
        <a className="button" href="/api/docs" target="_blank" rel="noreferrer">
          API reference
        </a>
      </div>
    </Empty>
  );
}
