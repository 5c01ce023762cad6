import { jobStates } from "../../../core/jobs/job.ts";
import type { JobIndex } from "../../sqlite/reads/find-jobs.ts";
import { wantedText } from "../../sqlite/reads/find-jobs.ts";
import { idParts, type KnownPaths, pathsOf } from "../../sqlite/reads/job-paths.ts";
import { idText } from "../jobs/job-entry.ts";

const bytesOf = (id: string): string => `unhex(replace(${id}, '-', ''))`;
/** The beginning of an id, filled up to a whole one. */
const filled = (digit: "0" | "f"): string =>
  `unhex(substr(replace(?16, '-', '') || '${digit.repeat(32)}', 1, 32))`;

const paths: KnownPaths = {
  byIds: {
    from: "jobs INDEXED BY jobs_by_id",
    fixed: `id IN (SELECT ${bytesOf("value")} FROM json_each(?16))`,
  },
  byStart: {
    from: "jobs INDEXED BY jobs_by_id",
    fixed: `id >= ${filled("0")} AND id <= ${filled("f")} AND substr(${idText}, 1, length(?16)) = ?16`,
  },
  byEnd: {
    from: `${idParts} CROSS JOIN jobs INDEXED BY jobs_by_id_end`,
    fixed: `seq >> 7 = part AND substr(id, -3) = unhex(substr(replace(?16, '-', ''), -6))
      AND substr(${idText}, -length(?16)) = ?16`,
  },
  unsuccessful: (state) => ({
    from: "jobs INDEXED BY jobs_unsuccessful",
    fixed: `status = ${jobStates.indexOf(state)} AND status >= 4`,
  }),
  claimable: { from: "jobs INDEXED BY jobs_claimable", fixed: "ready = 1" },
  delayed: { from: "jobs INDEXED BY jobs_delayed", fixed: "ready = 0" },
  held: { from: "jobs INDEXED BY jobs_due", fixed: "due_at IS NOT NULL" },
  ofOwner: (tenant, user) => ({
    from: "jobs INDEXED BY jobs_by_owner",
    fixed: `owner = (SELECT number FROM owners WHERE tenant_id = ?${tenant} AND user_id = ?${user})`,
  }),
};

const ofOwner = (column: string): string => `(SELECT ${column} FROM owners WHERE number = jobs.owner)`;
const states = jobStates.map((state, index) => `WHEN ${index} THEN '${state}'`).slice(1);

/** How jobs are looked for in the rows of the index. Documents are in frames, so that a function reads them. */
export const framedIndex: JobIndex = {
  pathsOf: (context, filter) => pathsOf(context, filter, paths),
  wanted: wantedText({
    id: idText,
    tenant: ofOwner("tenant_id"),
    user: ofOwner("user_id"),
    type: "(SELECT type FROM queues WHERE id = jobs.queue_id)",
    worker: "(SELECT name FROM names WHERE number = jobs.worker)",
    state: `CASE jobs.status ${states.join(" ")} ELSE
      iif(jobs.ready = 0 AND jobs.attempt = 0, 'scheduled', 'waiting') END`,
    document: `SELECT coalesce((SELECT summary FROM document_summaries WHERE job_seq = jobs.seq),
      searched_document(jobs.frame, jobs.place)) AS text`,
  }),
};
