import { useEffect, useMemo, useState } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import { callHub } from "../hub/call-hub.ts";
import { useStore } from "../hub/store.ts";
import { textOf } from "./line-layout.ts";
import type { OutputSource } from "./output-source.ts";

/** The offsets of the text in the stream. `isDone` when all output was searched, or `foundMax` matches were found. */
type Found = { offsets: readonly number[]; isDone: boolean };

type Searched = {
  jobId: string;
  stream: OutputStream;
  attempt: number;
  search: string;
  source: OutputSource;
};

/** More matches than a person steps through; the count then ends with a plus. */
export const foundMax = 100_000;
/** Keys that follow within this time belong to one search. */
const typedMs = 250;
/** How often new output is searched. */
const growingMs = 2_000;

const nothing: Found = { offsets: [], isDone: true };

/** All matches of a text in a stream. The page searches a stream that it holds whole; the hub searches any other. */
export function useFound(searched: Searched): Found {
  const { search, source } = searched;
  const { buffer, version, size } = useStore(source.state);
  const isWhole = buffer.start === 0 && buffer.end >= size;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buffer changes in place, with its version.
  const here = useMemo(
    () => (isWhole && search !== "" ? foundIn(buffer.lines, search) : nothing),
    [buffer, version, search, isWhole],
  );
  const there = useFoundByHub(searched, !isWhole && search !== "");
  return search === "" ? nothing : isWhole ? here : there;
}

function foundIn(lines: Lines, search: string): Found {
  const wanted = search.toLowerCase();
  const offsets: number[] = [];
  for (const line of lines) {
    const times = textOf(line).toLowerCase().split(wanted).length - 1;
    for (let time = 0; time < times && offsets.length < foundMax; time++) offsets.push(line.offset);
  }
  return { offsets, isDone: true };
}

type Lines = Parameters<typeof textOf>[0][];

function useFoundByHub({ jobId, stream, attempt, search, source }: Searched, isAsked: boolean): Found {
  const [found, setFound] = useState<Found>({ offsets: [], isDone: false });
  useEffect(() => {
    setFound({ offsets: [], isDone: false });
    if (!isAsked) return;
    const abort = new AbortController();
    const onFound = (next: Found) => {
      if (!abort.signal.aborted) setFound(next);
    };
    void searchAll({ id: jobId, stream, attempt, search }, { source, onFound, signal: abort.signal });
    return () => abort.abort();
  }, [jobId, stream, attempt, search, source, isAsked]);
  return found;
}

/** Calls the hub repeatedly, because one call searches for a quarter of a second only; later searches new output. */
async function searchAll(
  { id, stream, attempt, search }: { id: string; stream: OutputStream; attempt: number; search: string },
  { source, onFound, signal }: { source: OutputSource; onFound: (found: Found) => void; signal: AbortSignal },
): Promise<void> {
  await pause(typedMs);
  const offsets: number[] = [];
  let from = 0;
  while (!signal.aborted && offsets.length < foundMax) {
    try {
      const query = { q: search, attempt, from, ignore_case: true };
      const { body } = await callHub(pageRoutes.searchOutput, { params: { id, stream }, query });
      offsets.push(...body.offsets);
      const isDone = body.next === null || offsets.length >= foundMax;
      onFound({ offsets: [...offsets], isDone });
      // The text may begin in the last bytes that were searched.
      const last = offsets.at(-1);
      const searchedTo = Math.max(body.size - search.length, last === undefined ? 0 : last + 1);
      from = body.next ?? Math.max(from, searchedTo);
      if (body.next !== null) continue;
    } catch {
      // The hub is away or the output is gone; the footer says so.
    }
    if (!source.state.get().isLive) return;
    await pause(growingMs);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
