// What few jobs have, in tables of their own. Why: ADR 0139, ADR 0140.
import type { JobRecord } from "../../../core/jobs/job.ts";
import { termsOf } from "../../../core/jobs/terms.ts";
import { keptUntil } from "../../../core/kept-until.ts";
import { givesKeyBack, uniqueOf } from "../../../core/unique/unique.ts";
import type { SqlValue } from "../connection/connection.ts";

type Target = { send(text: string, ...values: SqlValue[]): void };

/** What comes and changes with a job that has terms; `before` is null if it is new. */
export function changeBeside(tx: Target, before: JobRecord | null, after: JobRecord): void {
  if (before === null) insertNew(tx, after);
  else if (givesKeyBack(before, after))
    tx.send(
      "DELETE FROM unique_keys WHERE tenant_id = $1 AND key = $2 AND seq = $3",
      after.tenantId,
      uniqueOf(after)!.key,
      after.seq,
    );
  const until = keptUntil(after);
  if (before === null || until === keptUntil(before)) return;
  if (until === null) tx.send("DELETE FROM kept_jobs WHERE seq = $1", after.seq);
  else
    tx.send(
      "INSERT INTO kept_jobs VALUES ($1, $2) ON CONFLICT (seq) DO UPDATE SET until = excluded.until",
      after.seq,
      until,
    );
}

function insertNew(tx: Target, { tenantId, seq, terms }: JobRecord): void {
  const { labels = [], unique } = termsOf({ terms });
  if (unique !== undefined)
    tx.send(
      "INSERT INTO unique_keys VALUES ($1, $2, $3) ON CONFLICT (tenant_id, key) DO UPDATE SET seq = excluded.seq",
      tenantId,
      unique.key,
      seq,
    );
  if (labels.length === 0) return;
  tx.send(
    "INSERT INTO job_labels SELECT $1, label, $3 FROM unnest($2::text[]) AS label ON CONFLICT DO NOTHING",
    tenantId,
    labels,
    seq,
  );
}
