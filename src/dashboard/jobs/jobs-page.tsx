import { useEffect, useMemo, useState } from "react";
import { type Counts, countLabel, sumCounts, useCounts, useCountsOf } from "../hub/counts.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { plural } from "../parts/format.ts";
import { Icon, Seal } from "../parts/icon.tsx";
import { Command, Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { programName } from "../parts/program-name.ts";
import { colourOf, StateIcon, stateWords } from "../parts/state.tsx";
import { useKeys } from "../shell/keys.ts";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { AllMatching } from "./all-matching.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { CommonCause } from "./common-cause.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { filterText } from "./filter-text.ts";
import {
  type FoundState,
  filterLabels,
  foundStates,
  hubFilter,
  type JobFilter,
  readFilter,
  statesOf,
} from "./job-filter.ts";
import { JobGrid } from "./job-grid.tsx";
import type { JobList } from "./job-list.ts";
import { keptList } from "./kept-list.ts";
import { ViewTabs } from "./view-tabs.tsx";

export function JobsPage() {
  const address = usePageAddress();
  const filter = useMemo(() => readFilter(address.query), [address.query]);
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what the filter holds.
  const list = useMemo(() => keptList(key, filter), [key]);
  const [isPaused, setPaused] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a list is told of later changes when they are made.
  useEffect(() => {
    list.start();
    if (isPaused) list.setPaused(true);
    return () => list.stop();
  }, [list]);
  const pause = () => {
    setPaused(!isPaused);
    list.setPaused(!isPaused);
  };
  useKeys({ p: pause });
  const counts = useCounts();
  const may = mayOf(usePerson());
  useKeys({ n: may.act ? () => go("/submit") : undefined });
  return (
    <>
      <div className="top">
        <h1>Jobs</h1>
        <span className="grow" />
        <button
          type="button"
          className="button not-phone"
          aria-pressed={isPaused}
          onClick={pause}
          title="Pause the list (P)"
        >
          <Icon name="pause" />
          {isPaused ? "Paused" : "Pause"}
        </button>
        {may.act ? (
          <a className="button main" href="/submit">
            <Icon name="plus" />
            <span className="not-phone">Submit a job</span>
            <span className="phone-only">Submit</span>
          </a>
        ) : null}
      </div>
      <ViewTabs counts={counts} />
      <div className="page jobs-page">
        <FilterBar filter={filter} />
        <Facets filter={filter} isNew={counts !== undefined && sumCounts(counts).count === 0} list={list} />
        <ListBody key={key} list={list} filter={filter} counts={counts} />
      </div>
    </>
  );
}

/** Each state with the number of jobs that the rest of the filter finds in it. */
function Facets({ filter, isNew, list }: { filter: JobFilter; isNew: boolean; list: JobList }) {
  const address = usePageAddress();
  const { state: _, ...rest } = filter;
  const counts = useCountsOf(JSON.stringify(rest), () => hubFilter(rest, Date.now()));
  const { newer } = useStore(list.state);
  const chosen = statesOf(filter);
  if (isNew) return null;
  return (
    <div className="facets" role="group" aria-label="States">
      {foundStates.map((state) => {
        const isOn = chosen.includes(state);
        const next = isOn ? chosen.filter((other) => other !== state) : withState(chosen, state);
        return (
          <button
            type="button"
            key={state}
            data-state={colourOf(state)}
            aria-pressed={isOn}
            onClick={() => go(withQuery(address, { state: next.join(",") }))}
          >
            <StateIcon state={state} />
            {stateWords[state]}
            <b>{counts === undefined ? "–" : countLabel(counts[state])}</b>
          </button>
        );
      })}
      {newer > 0 ? (
        <button
          type="button"
          className="newer"
          onClick={() => {
            list.showNewer();
            scrollTo(0, 0);
          }}
        >
          <Icon name="up" />
          {plural(newer, "newer job")}
        </button>
      ) : null}
    </div>
  );
}

/** Cancelled jobs are shown alone or with failed ones, so one choice ends the other. */
function withState(chosen: FoundState[], state: FoundState): FoundState[] {
  const next = [...chosen, state];
  if (next.includes("failed")) return next;
  return state === "cancelled" ? [state] : next.filter((other) => other !== "cancelled");
}

function ListBody({
  list,
  filter,
  counts,
}: {
  list: JobList;
  filter: JobFilter;
  counts: Counts | undefined;
}) {
  const { rows, isLoading, error, hasMore } = useStore(list.state);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const may = mayOf(usePerson());
  const clear = () => setSelected(new Set());
  if (isLoading) return <SkeletonRows count={14} />;
  if (rows.length === 0 && error === undefined && !hasMore) {
    const isNew = counts !== undefined && sumCounts(counts).count === 0;
    return isNew ? <NoJobYet mayAct={may.act} /> : <NoMatch filter={filter} />;
  }
  return (
    <>
      <ErrorBand error={error} />
      {statesOf(filter).length > 0 ? <CommonCause rows={rows} /> : null}
      {may.act ? <AllMatching filter={filter} onDone={clear} /> : null}
      <JobGrid list={list} filter={filter} selected={selected} maySelect={may.act} onSelect={setSelected} />
      <BulkBar rows={rows} selected={selected} onClear={clear} />
    </>
  );
}

function NoJobYet({ mayAct }: { mayAct: boolean }) {
  return (
    <Empty icon={<Seal kind="seal-wait" />} title="No job yet">
      <p>This hub is ready. Give it something to do; it shows up here at once.</p>
      {mayAct ? <Command text={`${programName("jobctl")} run echo hello`} /> : null}
      <div className="row">
        {mayAct ? (
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

function NoMatch({ filter }: { filter: JobFilter }) {
  const address = usePageAddress();
  const names = Object.keys(filter) as (keyof JobFilter)[];
  const last = names.at(-1);
  return (
    <Empty icon={<Icon name="search" />} title="No job matches">
      <p>
        <PlainText text={filterText(filter)} />: there is none.
      </p>
      <div className="row">
        {last === undefined || names.length < 2 ? null : (
          <a className="button main" href={withQuery(address, { [last]: null })}>
            Drop “{filterLabels[last]}”
          </a>
        )}
        <a className="button" href="/jobs">
          Show all jobs
        </a>
      </div>
    </Empty>
  );
}
