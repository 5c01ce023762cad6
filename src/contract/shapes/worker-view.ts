import { z } from "zod";
import { executionLocations, providers } from "../../core/jobs/document.ts";
import { known } from "./fields.ts";
import { hostLevels } from "./worker-shapes.ts";

/* A worker as the hub shows it. The rule for fields is that of view-shapes.ts. */

/** The load of the worker's machine; one sample for each report of the last hour, oldest first. */
const metricsView = z.object({
  ts: z.int(),
  cpu_percent: z.number(),
  load1: z.number(),
  mem_used_bytes: z.int(),
  mem_total_bytes: z.int(),
  disk_free_bytes: z.int(),
  slots_used: z.int(),
  slots: z.int(),
  signatures_verified: z.int().optional(),
});

export const workerView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  location: known(executionLocations),
  cores: z.number(),
  ram_gb: z.number(),
  tags: z.array(z.string()),
  types: z.array(z.string()),
  kinds: z.array(z.string()).optional(),
  sessions: z.array(z.string()).optional(),
  containers: z.array(z.string()).optional(),
  document_format: z.int().optional(),
  sandbox_problem: z.string().nullable().optional(),
  agent_problems: z
    .array(z.object({ agent: z.string(), why: z.string() }))
    .optional()
    .meta({ description: "Coding agents in its settings that it cannot run" }),
  isolation: z
    .object({ level: known(hostLevels), missing: z.array(z.object({ part: z.string(), why: z.string() })) })
    .nullable()
    .optional()
    .meta({ description: "How it isolates processes; null if it has not said" }),
  key_ids: z
    .array(z.string())
    .optional()
    .meta({ description: "The hub's keys that it trusts; empty if it has named none" }),
  slots: z.int(),
  capabilities: z.array(z.object({ provider: known(providers), model: z.string() })),
  status: z.enum(["active", "inactive", "draining", "blocked"]),
  paused_until: z.int().nullable().optional().meta({
    description: "Until then it is given no jobs, because it refused a claim; null if it may have some",
  }),
  registered_at: z.int(),
  last_heartbeat: z.int(),
  current_jobs: z
    .int()
    .nullable()
    .meta({ description: "Null for a tenant, of a worker that other tenants use too" }),
  job_counts: z
    .object({ completed: z.int(), failed: z.int() })
    .nullable()
    .meta({ description: "Since its start; null like `current_jobs`" }),
  metrics: z.array(metricsView).meta({ description: "Empty where `current_jobs` is null" }),
  version: z.string().nullable(),
});
export type WorkerView = z.infer<typeof workerView>;
