import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { AuditView } from "../../contract/shapes/audit-shapes.ts";
import type { WorkerView } from "../../contract/shapes/worker-view.ts";
import { callHub } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { ageText } from "../parts/format.ts";
import { PlainText } from "../parts/plain-text.tsx";

/** More blocks than any fleet has at a time. A worker whose block is older shows none. */
const recordsMax = 500;

/** The last block of each blocked worker by its id. Empty for other roles: only administrators may read the trail. */
export function useBlocks(workers: readonly WorkerView[]): ReadonlyMap<string, AuditView> {
  const mayRead = mayOf(usePerson()).administer;
  const blocked = workers.filter(({ status }) => status === "blocked").map(({ id }) => id);
  const isAsked = mayRead && blocked.length > 0;
  const load = async () => (isAsked ? readBlocks() : []);
  const { data } = useQuery(isAsked ? `blocks of ${blocked.join(" ")}` : "no blocks", load, {
    everyMs: 60_000,
  });
  // The records come newest first; reversed, the newest of each worker is the last one that is put into the map.
  return new Map(data?.toReversed().map((record) => [String(record.details["worker_id"]), record]));
}

async function readBlocks(): Promise<AuditView[]> {
  return (await callHub(pageRoutes.searchAudit, { query: { event: "WORKER_BLOCKED", limit: recordsMax } }))
    .body;
}

/** Says who blocked a worker, when and why. */
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

/** Links to the record that is the evidence, or else to the block itself. */
export function blockLink({ seq, details }: AuditView): string {
  const { evidence } = details;
  return `/audit?record=${typeof evidence === "number" ? evidence : seq}`;
}
