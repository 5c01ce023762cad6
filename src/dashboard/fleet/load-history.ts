import { useMemo, useRef } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";

export type Sample = WorkerView["metrics"][number];
type Histories = Map<string, Sample[]>;

const spanMs = 3_600_000;
/** A line of 90 pixels shows no more. */
const samplesShown = 45;
const stepMs = spanMs / samplesShown;

/**
 * The last hour of each worker. It is read once, when the page is opened or has lost the stream; after that, the newest
 * measurement of each list of workers is added to it.
 */
export function useLoadHistories(workers: readonly WorkerView[]): ReadonlyMap<string, readonly Sample[]> {
  const { data, at } = useQuery("worker history", readHistories);
  const known = useRef<{ at: number; histories: Histories }>({ at: 0, histories: new Map() });
  return useMemo(() => {
    if (known.current.at !== at) known.current = { at, histories: new Map(data) };
    const { histories } = known.current;
    for (const { id, metrics } of workers) {
      const newest = metrics.at(-1);
      if (newest !== undefined) histories.set(id, withSample(histories.get(id) ?? [], newest));
    }
    return histories;
  }, [workers, data, at]);
}

async function readHistories(): Promise<[string, Sample[]][]> {
  const { body } = await callHub(pageRoutes.listWorkers, { query: { samples: samplesShown } });
  return body.map(({ id, metrics }) => [id, metrics]);
}

/** Keeps one measurement for each step, so that the line stays even, and none that is older than the span. */
function withSample(samples: readonly Sample[], newest: Sample): Sample[] {
  const last = samples.at(-1);
  if (last !== undefined && newest.ts <= last.ts) return [...samples];
  const before = samples.at(-2);
  const isSameStep = before !== undefined && newest.ts - before.ts < stepMs;
  const kept = isSameStep ? samples.slice(0, -1) : samples;
  return [...kept.filter(({ ts }) => ts > newest.ts - spanMs), newest];
}
