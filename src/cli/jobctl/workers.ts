import type { Command } from "commander";
import type { Worker } from "../../client/index.ts";
import { withWrit } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { formatAge } from "../duration.ts";
import { wantsJson } from "../print.ts";
import { type Column, formatTable } from "../table.ts";
import { safeJson } from "../terminal.ts";

export function define(command: Command, context: CliContext): void {
  command.action(() =>
    withWrit(context, command, async (writ) => {
      const workers = await writ.workers();
      const text = wantsJson(command)
        ? workers.map((worker) => `${safeJson(worker)}\n`).join("")
        : formatTable(workerColumns(), workers);
      context.stdout.write(text);
    }),
  );
}

function workerColumns(): Column<Worker>[] {
  const nowMs = Date.now();
  return [
    { title: "ID", cell: (worker) => worker.id },
    { title: "STATUS", cell: (worker) => worker.status },
    { title: "JOBS", cell: (worker) => `${worker.current_jobs}/${worker.slots}` },
    { title: "DONE", cell: (worker) => worker.job_counts.completed },
    { title: "FAILED", cell: (worker) => worker.job_counts.failed },
    { title: "SEEN", cell: (worker) => `${formatAge(worker.last_heartbeat, nowMs)} ago` },
    { title: "KINDS", cell: (worker) => worker.kinds?.join(",") ?? null },
    { title: "TYPES", cell: (worker) => worker.types.join(",") || "all" },
    { title: "TAGS", cell: (worker) => worker.tags.join(",") },
    { title: "VERSION", cell: (worker) => worker.version },
    { title: "FORMAT", cell: (worker) => worker.document_format ?? null },
  ];
}
