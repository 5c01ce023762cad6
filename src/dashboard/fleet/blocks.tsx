import { routes } from "../../contract/routes/routes.ts";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import type { WorkerView } from "../../contract/shapes/view-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { ageText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";

/** More blocks than any fleet has at a time. A worker whose block is older shows none. */
const recordsMax = 500;

/** The last block of each blocked worker by its id. Only administrators may read the trail, so others find nothing. */
export function useBlocks(workers: readonly WorkerView[]): ReadonlyMap<string, AuditView> {
  const mayRead = mayOf(usePerson()).administer;
  const blocked = workers.filter(({ status }) => status === "blocked").map(({ id }) => id);
  const isAsked = mayRead && blocked.length > 0;
  const load = async () => (isAsked ? readBlocks() : []);
  const { data } = useQuery(isAsked ? `blocks of ${blocked.join(" ")}` : "no blocks", load, {
    everyMs: 60_000,
  });
  // They are read newest first, and the newest is to stay in the map.
  return new Map(data?.toReversed().map((record) => [String(record.details["worker_id"]), record]));
}

async function readBlocks(): Promise<AuditView[]> {
  return (await callHub(routes.searchAudit, { query: { event: "WORKER_BLOCKED", limit: recordsMax } })).body;
}

/** Who blocked a worker, when, and on which evidence. */
export function BlockText({ record, now }: { record: AuditView; now: number }) {
  const { user_id, timestamp, details } = record;
  const { reason } = details;
  return (
    <>
      by <PlainText text={user_id ?? "the hub"} /> {ageText(now - Date.parse(timestamp))} ago
      {typeof reason === "string" ? (
        <>
          : <PlainText text={reason} />
        </>
      ) : null}
    </>
  );
}

/** Leads to the evidence, or else to the block itself. */
export function blockLink({ seq, details }: AuditView): string {
  const { evidence } = details;
  return `/audit?record=${typeof evidence === "number" ? evidence : seq}`;
}
