import { useRef, useState } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { type AuditFilter, auditSearch } from "./audit-filter.ts";

type Page = { records: AuditView[]; next: number | undefined };

const pageRows = 100;
/** How often newer records are requested; the answer is empty while nothing happens. */
const everyMs = 5_000;

/**
 * The newest records that match, kept up to date. A list that is held keeps its rows in place and counts newer records.
 */
export function useTrail(filter: AuditFilter) {
  const known = useRef<Page | undefined>(undefined);
  const newest = useQuery(`audit ${JSON.stringify(filter)}`, () => readNewest(filter, known.current), {
    everyMs,
  });
  known.current = newest.data;
  const [held, setHeld] = useState<Page | null>(null);
  const [olderError, setOlderError] = useState<unknown>(undefined);
  const shown = held ?? newest.data;
  const first = held?.records[0]?.seq ?? Number.POSITIVE_INFINITY;
  const newer = newest.data?.records.filter(({ seq }) => seq > first).length ?? 0;
  const readOlder = async () => {
    if (shown?.next === undefined) return;
    try {
      const page = await readPage(filter, { cursor: shown.next });
      setOlderError(undefined);
      setHeld({ records: [...shown.records, ...page.records], next: page.next });
    } catch (error) {
      setOlderError(error);
    }
  };
  return {
    ...shown,
    newer,
    /** A full page of newer records: there may be more. */
    isMoreNewer: newer >= pageRows,
    error: newest.error ?? olderError,
    at: newest.at,
    reload: newest.reload,
    hold: () => {
      if (held === null && newest.data !== undefined) setHeld(newest.data);
    },
    /** Follows the newest again, unless older pages were read. */
    release: () => {
      if (held !== null && held.records.length <= pageRows) setHeld(null);
    },
    showNewest: () => setHeld(null),
    readOlder,
  };
}

/** The newest page, made from the known page and the records that followed it. */
async function readNewest(filter: AuditFilter, known: Page | undefined): Promise<Page> {
  const first = known?.records[0]?.seq;
  // Records drop out of a range that ends now, and a list that begins at a record gets no newer ones.
  if (known === undefined || first === undefined || filter.since !== undefined || filter.record !== undefined)
    return readPage(filter);
  const { records } = await readPage(filter, { after: Math.max(first, Number(filter.after ?? 0)) });
  // There may be more between these and the known ones.
  if (records.length >= pageRows) return readPage(filter);
  if (records.length === 0) return known;
  const all = [...records, ...known.records];
  const shown = all.slice(0, pageRows);
  return { records: shown, next: all.length > shown.length ? shown.at(-1)?.seq : known.next };
}

async function readPage(filter: AuditFilter, part: { cursor?: number; after?: number } = {}): Promise<Page> {
  const search = auditSearch(filter, Date.now());
  const query = { ...search, limit: pageRows, ...part };
  const { body, header } = await callHub(pageRoutes.searchAudit, { query });
  const next = header("x-next-cursor");
  return { records: body, next: next === undefined ? undefined : Number(next) };
}
