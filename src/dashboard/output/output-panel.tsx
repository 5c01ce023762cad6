import { useEffect, useMemo, useState } from "react";
import { buildRequest } from "../../contract/routes/build-request.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { isEnded } from "../../core/jobs/job.ts";
import { type OutputStream, outputStreams } from "../../core/jobs/output-stream.ts";
import { useStore } from "../hub/store.ts";
import { bytesText, countText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { StateIcon } from "../parts/state.tsx";
import { useKeys } from "../shell/keys.ts";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { SearchField, useOutputSearch } from "./output-search.tsx";
import { OutputSource } from "./output-source.ts";
import { OutputView } from "./output-view.tsx";
import { useFound } from "./use-found.ts";

type Shown = OutputStream | "both";

/**
 * The output of a job's attempts. stdout and stderr are separate streams; the page never mixes them, because their
 * order is unknown.
 */
export function OutputPanel({ job }: { job: JobView }) {
  const address = usePageAddress();
  const asked = Number(address.query.get("attempt"));
  const attempt = asked >= 1 && asked <= job.attempt ? asked : job.attempt;
  const shown = shownStream(address.query.get("stream"), job);
  const isLive = attempt === job.attempt && !isEnded(job.status) && job.status !== "pending";
  const [isWrapped, setWrapped] = useState(true);
  const [isFollowing, setFollowing] = useState(true);
  const search = useOutputSearch();
  useKeys({
    f: isLive ? () => setFollowing(!isFollowing) : undefined,
    e: () => go(withQuery(address, { stream: shown === "stdout" ? "stderr" : "stdout" }), { replace: true }),
    "ctrl+f": search.focus,
  });
  if (job.attempt === 0) return null;
  const streams = shown === "both" ? outputStreams : [shown];
  const { text, found, onFound } = search;
  const view = { isWrapped, isFollowing, onFollow: setFollowing, search: text, matchAt: found.at, onFound };
  return (
    <section className="panel output" aria-label="Output">
      <header>
        <StreamChoice job={job} shown={shown} attempt={attempt} />
        <AttemptChoice job={job} attempt={attempt} isLive={isLive} />
        <span className="grow not-phone" />
        <SearchField search={search} />
        <button
          type="button"
          className="icon-button not-phone"
          aria-label="Wrap lines"
          title="Wrap lines"
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        >
          <Icon name="wrap" />
        </button>
        {isLive ? <FollowButton isFollowing={isFollowing} onFollow={setFollowing} /> : null}
        {streams.map((stream) => (
          <DownloadLink key={stream} jobId={job.id} stream={stream} attempt={attempt} />
        ))}
      </header>
      <div className={shown === "both" ? "side-by-side" : undefined}>
        {streams.map((stream) => (
          <OneStream
            key={`${stream} ${attempt} ${isLive}`}
            job={job}
            stream={stream}
            attempt={attempt}
            isLive={isLive}
            view={view}
          />
        ))}
      </div>
    </section>
  );
}

type FollowProps = { isFollowing: boolean; onFollow: (isFollowing: boolean) => void };

function FollowButton({ isFollowing, onFollow }: FollowProps) {
  return (
    <button
      type="button"
      className="button follow"
      aria-pressed={isFollowing}
      onClick={() => onFollow(!isFollowing)}
    >
      <Icon name="follow" />
      {isFollowing ? "Following" : "Follow"}
    </button>
  );
}

type DownloadProps = { jobId: string; stream: OutputStream; attempt: number };

function DownloadLink({ jobId, stream, attempt }: DownloadProps) {
  return (
    <a
      className="icon-button"
      href={outputPath(jobId, { stream, attempt })}
      download={`${jobId}-${attempt}.${stream}.txt`}
      aria-label={`Download ${stream}`}
      title={`Download ${stream}`}
    >
      <Icon name="download" />
    </a>
  );
}

/** By default, stderr if the attempt failed or wrote only that, else stdout. */
function shownStream(asked: string | null, job: JobView): Shown {
  if (asked === "stdout" || asked === "stderr" || asked === "both") return asked;
  const { stdout, stderr } = job.output;
  return stderr > 0 && (stdout === 0 || hasFailed(job)) ? "stderr" : "stdout";
}

/** Whether the latest attempt failed and was not cancelled; a retry may follow. */
function hasFailed({ status, attempt, fail_code, fail_history }: JobView): boolean {
  if (status === "failed" || status === "quarantined") return fail_code !== "CANCELLED";
  return status === "pending" && fail_history.at(-1)?.attempt === attempt;
}

function outputPath(id: string, { stream, attempt }: { stream: OutputStream; attempt: number }): string {
  return buildRequest(pageRoutes.readOutput, { params: { id, stream }, query: { attempt } }).path;
}

function StreamChoice({ job, shown, attempt }: { job: JobView; shown: Shown; attempt: number }) {
  const address = usePageAddress();
  const choose = (stream: Shown) => go(withQuery(address, { stream }), { replace: true });
  return (
    <div className="segments" role="group" aria-label="Stream">
      {outputStreams.map((stream) => (
        <button type="button" key={stream} aria-pressed={shown === stream} onClick={() => choose(stream)}>
          {stream}{" "}
          {attempt === job.attempt ? <span className="dimmer">{bytesText(job.output[stream])}</span> : null}
        </button>
      ))}
      <button
        type="button"
        className="not-phone"
        aria-pressed={shown === "both"}
        onClick={() => choose("both")}
      >
        Side by side
      </button>
    </div>
  );
}

function AttemptChoice({ job, attempt, isLive }: { job: JobView; attempt: number; isLive: boolean }) {
  const address = usePageAddress();
  if (job.attempt < 2) return null;
  return (
    <label className="button choice not-phone">
      <span className="only-read">Attempt</span>
      <select
        value={attempt}
        onChange={(event) => go(withQuery(address, { attempt: event.target.value }), { replace: true })}
      >
        {Array.from({ length: Math.min(job.attempt, 100) }, (_, index) => job.attempt - index).map(
          (number) => (
            <option key={number} value={number}>
              Attempt {number}
              {number === job.attempt && isLive ? ", live" : ` of ${job.attempt}`}
            </option>
          ),
        )}
      </select>
    </label>
  );
}

type StreamProps = {
  job: JobView;
  stream: OutputStream;
  attempt: number;
  isLive: boolean;
  view: Omit<Parameters<typeof OutputView>[0], "source" | "label" | "match"> & {
    /** The index of the shown match; -1 while there is none. */
    matchAt: number;
    onFound: (count: number, isDone: boolean) => void;
  };
};

function OneStream({ job, stream, attempt, isLive, view: { matchAt, onFound, ...view } }: StreamProps) {
  const isLatest = attempt === job.attempt && job.output.removed !== true;
  const size = isLatest ? job.output[stream] : null;
  const isEmpty = !isLive && size === 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: reading begins at the size; the source then follows it by itself.
  const source = useMemo(
    () => new OutputSource({ jobId: job.id, stream, attempt, size, isLive }),
    [job.id, stream, attempt, isLive, isEmpty],
  );
  useEffect(() => {
    source.start();
    return () => source.stop();
  }, [source]);
  const state = useStore(source.state);
  const { start, end } = state.buffer;
  const found = useFound({ jobId: job.id, stream, attempt, search: view.search, source });
  useEffect(() => onFound(found.offsets.length, found.isDone), [found, onFound]);
  const match = found.offsets[matchAt];
  useEffect(() => {
    const { buffer } = source.state.get();
    if (match !== undefined && (match < buffer.start || match >= buffer.end)) void source.jumpTo(match);
  }, [match, source]);
  const jump = (offset: number) => {
    view.onFollow(offset > 0);
    void source.jumpTo(offset);
  };
  return (
    <div className="one-stream">
      <OutputView source={source} label={`${stream} of attempt ${attempt}`} match={match} {...view} />
      <footer>
        <span>{heldText(state)}</span>
        {start > 0 ? (
          <button type="button" className="button quiet small" onClick={() => jump(0)}>
            Go to the start
          </button>
        ) : null}
        {end < state.size ? (
          <button type="button" className="button quiet small" onClick={() => jump(state.size)}>
            Go to the end
          </button>
        ) : null}
        {job.output.removed === true ? <span>removed to make room</span> : null}
        {state.problem === null ? null : <span className="problem">{state.problem}</span>}
        <span className="grow" />
        {state.isLive ? (
          <span className="state" data-state="running">
            <StateIcon state="running" />
            live
          </span>
        ) : null}
      </footer>
    </div>
  );
}

type Held = Pick<ReturnType<OutputSource["state"]["get"]>, "buffer" | "size" | "isLoading" | "problem">;

function heldText({ buffer, size, isLoading, problem }: Held): string {
  const { start, end } = buffer;
  if (isLoading) return problem === null ? "loading …" : "";
  if (start === 0 && end >= size) return `${plural(end, "byte")}, all shown`;
  return `bytes ${countText(start)} to ${countText(end)} of ${bytesText(size)}`;
}
