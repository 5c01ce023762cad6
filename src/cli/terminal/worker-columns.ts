import type { Worker } from "../../client/index.ts";
import { formatAge } from "./duration.ts";
import type { Column } from "./table.ts";

/** The columns of `jobctl workers` and `writ workers list`. */
export function workerColumns(nowMs: number): Column<Worker>[] {
  return [
    { title: "ID", cell: (worker) => worker.id, minWidth: 12 },
    { title: "STATUS", cell: (worker) => worker.status },
    { title: "JOBS", cell: (worker) => `${worker.current_jobs ?? "-"}/${worker.slots}` },
    { title: "DONE", cell: (worker) => worker.job_counts?.completed ?? null, isOptional: true },
    { title: "FAILED", cell: (worker) => worker.job_counts?.failed ?? null, isOptional: true },
    { title: "SEEN", cell: (worker) => `${formatAge(worker.last_heartbeat, nowMs)} ago`, isOptional: true },
    { title: "KINDS", cell: (worker) => worker.kinds?.join(",") ?? null, minWidth: 6, isOptional: true },
    { title: "TYPES", cell: (worker) => worker.types.join(",") || "all", minWidth: 6, isOptional: true },
    { title: "TAGS", cell: (worker) => worker.tags.join(","), minWidth: 6, isOptional: true },
    { title: "VERSION", cell: (worker) => worker.version, isOptional: true },
    { title: "FORMAT", cell: (worker) => worker.document_format ?? null, isOptional: true },
  ];
}
