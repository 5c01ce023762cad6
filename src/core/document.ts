import type { LimitsText } from "./limits.ts";
import type { StorageRight } from "./storage-policy.ts";

/**
 * The document: the immutable description of the work, as it is signed. Values that the user brought (params,
 * metadata, inputs) are JSON of any shape; the signing room keeps them to the byte.
 */
export type JobDocument = {
  job_id: string;
  tenant_id: string;
  user_id: string;
  type: string;
  execution_location: ExecutionLocation;
  provider?: Provider;
  model?: string;
  run: RunSpec;
  limits?: LimitsText;
  requires?: Requires;
  created_at_ts: number;
  status: "QUEUED";
  timeout_sec: number;
  idempotency_key: string;
  repo_root?: string;
  allowed_paths?: string[];
  priority: number;
  max_attempts: number;
  queue_ttl_sec?: number;
  steps?: unknown;
  metadata?: unknown;
  params?: unknown;
  output_location?: OutputLocation;
  storage_access_policy?: StorageRight[];
};

export const executionLocations = ["LOCAL_MACHINE", "CLOUD"] as const;
export type ExecutionLocation = (typeof executionLocations)[number];
export const providers = ["OPENROUTER", "OLLAMA"] as const;
export type Provider = (typeof providers)[number];

export type Requires = { tags?: string[]; session?: string; cores?: number; ram_gb?: number };
export type OutputLocation = { folder_id: string; prefix?: string };

/** What to do, by kind. */
export type RunSpec =
  | { kind: "exec"; argv: string[]; env?: Record<string, string>; cwd?: string; secrets?: string[] }
  | { kind: "solver"; url: string; checksum: string; params?: unknown; secrets?: string[] }
  | { kind: "exec_per_job"; worker_command: string[]; job_input?: unknown; secrets?: string[] }
  | {
      kind: "persistent_http";
      worker_command: string[];
      port: number;
      job_input?: unknown;
      secrets?: string[];
    }
  | {
      kind: "delegate";
      agent: string;
      prompt: string;
      expected_artifacts?: string[];
      idle_timeout_sec?: number;
      secrets?: string[];
    }
  | { kind: "handler"; params?: unknown };

export type RunKind = RunSpec["kind"];

export const documentDefaults = {
  timeoutSec: 300,
  priority: 5,
  maxAttempts: 3,
  executionLocation: "LOCAL_MACHINE",
} as const;

export const timeoutSecMax = { exec: 604_800, other: 3_600 } as const;
