import { useState } from "react";
import type { AuditView } from "../../contract/audit-shapes.ts";
import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useQuery } from "../hub/use-query.ts";
import { type AuditFilter, auditSearch } from "./audit-filter.ts";

type Page = { records: AuditView[]; next: number | undefined };

const pageRows = 100;
const everyMs = 3_000;

/**
 * The newest records that match, kept up to date until somebody looks closer: a list that is held keeps its rows where
 * they are, and counts what came meanwhile.
 */
export function useTrail(filter: AuditFilter) {
  const newest = useQuery(`audit ${JSON.stringify(filter)}`, () => readPage(filter), { everyMs });
  const [held, setHeld] = useState<Page | null>(null);
  const [olderError, setOlderError] = useState<unknown>(undefined);
  const shown = held ?? newest.data;
  const first = held?.records[0]?.seq ?? Number.POSITIVE_INFINITY;
  const newer = newest.data?.records.filter(({ seq }) => seq > first).length ?? 0;
  const readOlder = async () => {
    if (shown?.next === undefined) return;
    try {
      const page = await readPage(filter, shown.next);
      setOlderError(undefined);
      setHeld({ records: [...shown.records, ...page.records], next: page.next });
    } catch (error) {
      setOlderError(error);
    }
  };
  return {
    ...shown,
    newer,
    /** As many as one page may hide more behind them. */
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

async function readPage(filter: AuditFilter, cursor?: number): Promise<Page> {
  const search = auditSearch(filter, Date.now());
  const query = { ...search, limit: pageRows, ...(cursor === undefined ? {} : { cursor }) };
  const { body, header } = await callHub(routes.searchAudit, { query });
  const next = header("x-next-cursor");
  return { records: body, next: next === undefined ? undefined : Number(next) };
}
