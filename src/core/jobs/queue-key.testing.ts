import type { QueueFacts, WorkerFacts } from "./queue-key.ts";

/** A queue of jobs without special requirements, and a worker that fits it. */
export const plainFacts: QueueFacts = {
  tenant_id: "acme",
  type: "build",
  kind: "exec",
  execution_location: "LOCAL_MACHINE",
  provider: null,
  model: null,
  tags: [],
  session: null,
  cores: null,
  ram_gb: null,
  container: null,
  agent: null,
  network: null,
  document_format: 1,
};

export const plainWorker: WorkerFacts = {
  tenantId: null,
  location: "LOCAL_MACHINE",
  cores: 4,
  ramGb: 8,
  tags: [],
  types: [],
  handlerTypes: [],
  capabilities: [],
  kinds: ["exec", "handler"],
  sessions: [],
  containers: [],
  documentFormat: 1,
};
