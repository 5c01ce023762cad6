import { useEffect } from "react";
import { commandOf } from "../../contract/kinds.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { EventView, JobView } from "../../contract/shapes/view-shapes.ts";
import type { WhyView } from "../../contract/why-view.ts";
import { WritError } from "../../core/errors.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { useWorkers } from "../hub/workers.ts";
import { neighboursOf } from "../jobs/neighbours.ts";
import { OutputPanel } from "../output/output-panel.tsx";
import { shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { StateBadge, shownState } from "../parts/state.tsx";
import { useKeys } from "../shell/keys.ts";
import { go } from "../shell/router.ts";
import { joinWords } from "../submit/shell-words.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { AttemptBars } from "./attempt-bars.tsx";
import { CandidateWorkers } from "./candidate-workers.tsx";
import { DetailsPanel } from "./details-panel.tsx";
import { FilesPanel } from "./files-panel.tsx";
import { IsolationPanel } from "./isolation-panel.tsx";
import { JobActs } from "./job-acts.tsx";
import { JobProof } from "./job-proof.tsx";
import { JobSentence } from "./job-sentence.tsx";
import { readJobEvents } from "./read-events.ts";
import { ResourcesPanel } from "./resources-panel.tsx";
import { TreePanel } from "./result-tree.tsx";

/** How often an unfinished job is read again, for changes that no event tells. */
const activeMs = 5_000;
/** After its end only people change it, and the stream tells of that. */
const endedMs = 60_000;

type Read = { job: JobView; why: WhyView | undefined; events: readonly EventView[] };

export function JobPage({ id }: { id: string }) {
  const { data, error, at, reload } = useQuery<Read>(`job ${id}`, () => readJob(id), {
    when: ({ events }) => events.has(id),
    everyMs: (read) => (read !== undefined && isEnded(read.job.status) ? endedMs : activeMs),
  });
  const type = data?.job.type ?? "Job";
  useEffect(() => {
    document.title = `${type} ${shortId(id)} · Writ`;
  }, [type, id]);
  return (
    <>
      <div className="top">
        <nav className="crumb" aria-label="Where this is">
          <a href="/jobs" className="row">
            <Icon name="back" />
            Jobs
          </a>
          <span>/</span>
          <span className="mono">{shortId(id)}</span>
        </nav>
        <span className="grow" />
        <Neighbours id={id} />
      </div>
      <div className="page with-acts">
        {data === undefined && error !== undefined ? <NoJob error={error} onRetry={reload} /> : null}
        {data === undefined && error === undefined ? <SkeletonRows count={6} /> : null}
        {data === undefined ? null : (
          <>
            <ErrorBand error={error} at={at} onRetry={reload} />
            <JobBody read={data} onDone={reload} />
          </>
        )}
      </div>
    </>
  );
}

function Neighbours({ id }: { id: string }) {
  const { newer, older } = neighboursOf(id);
  useKeys({
    "[": newer === undefined ? undefined : () => go(`/jobs/${newer}`),
    "]": older === undefined ? undefined : () => go(`/jobs/${older}`),
  });
  return (
    <>
      {newer === undefined ? null : (
        <a className="button quiet not-phone" href={`/jobs/${newer}`}>
          <kbd>[</kbd> Newer
        </a>
      )}
      {older === undefined ? null : (
        <a className="button quiet not-phone" href={`/jobs/${older}`}>
          Older <kbd>]</kbd>
        </a>
      )}
    </>
  );
}

async function readJob(id: string): Promise<Read> {
  const params = { id };
  const { body: job } = await callHub(pageRoutes.getJob, { params });
  const [why, events] = await Promise.all([
    job.status === "pending"
      ? callHub(pageRoutes.explainJob, { params }).then(({ body }) => body)
      : undefined,
    readJobEvents(id),
  ]);
  return { job, why, events };
}

function NoJob({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const isMissing =
    error instanceof WritError && (error.code === "NOT_FOUND" || error.code === "INVALID_ARGUMENT");
  if (!isMissing) return <ErrorBand error={error} onRetry={onRetry} />;
  return (
    <Empty icon={<Icon name="search" />} title="There is no such job">
      <p>It does not exist, belongs to another tenant, or was deleted when its time was over.</p>
      <a className="button" href="/jobs">
        Show all jobs
      </a>
    </Empty>
  );
}

function JobBody({ read, onDone }: { read: Read; onDone: () => void }) {
  const { job, why, events } = read;
  const now = useNow();
  const may = mayOf(usePerson());
  const workers = useWorkers(may.seeFleet && job.status === "pending").data ?? [];
  const command = job.run === null ? null : commandOf(job.run);
  const commandText = command === null ? `${job.run?.kind ?? "handler"} job` : joinWords(command);
  const acts = <JobActs job={job} mayAct={may.act} onDone={onDone} />;
  return (
    <>
      <div className="job-head">
        <div className="grow">
          <h1>
            <bdi>{job.type}</bdi> <StateBadge state={shownState(job)} isBadge />
          </h1>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long command scrolls, and the keyboard must reach it */}
          <div className="command" role="group" aria-label="Command" tabIndex={0}>
            <PlainText text={commandText} hasLines />
          </div>
        </div>
        <div className="row acts">{acts}</div>
      </div>
      <JobSentence job={job} why={why} events={events} now={now} />
      <JobProof job={job} />
      <div className="job-columns">
        <div className="stack">
          {why === undefined ? null : <CandidateWorkers why={why} workers={workers} />}
          <AttemptBars job={job} events={events} now={now} />
          <AgentPanel job={job} events={events} />
          <OutputPanel job={job} />
          <Results job={job} />
        </div>
        <div className="stack">
          <ResourcesPanel job={job} now={now} />
          <IsolationPanel job={job} />
          <FilesPanel job={job} />
          <DetailsPanel job={job} />
        </div>
      </div>
      <div className="job-acts">{acts}</div>
    </>
  );
}

function Results({ job }: { job: JobView }) {
  const { result, partial_result, params, run, requires, limits, metadata } = job;
  const document = Object.fromEntries(
    Object.entries({ type: job.type, run, params, requires, limits, metadata }).filter(
      ([, value]) => value !== null && value !== undefined,
    ),
  );
  return (
    <>
      {result === null || result === undefined ? null : <TreePanel title="Result" value={result} />}
      {partial_result === null || partial_result === undefined ? null : (
        <TreePanel title="Result" note={`partial, kept from attempt ${job.attempt}`} value={partial_result} />
      )}
      <TreePanel
        title="Document"
        note={isEnded(job.status) ? "what was signed" : "what is signed"}
        value={document}
      />
    </>
  );
}
