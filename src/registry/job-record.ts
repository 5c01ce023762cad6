import type { RegistryState } from "../core/jobs/state-names.ts";

/** A job of the registry, as `jobctl registry get` prints it and the history keeps it. */
export type RegistryJob = {
  schema_version: 1;
  job_id: string;
  status: RegistryStatus;
  created_at: string;
  updated_at: string;
  prompt: string;
  agent: string;
  agent_session: string;
  broker: Broker | null;
  topic_prefix: string;
  timeout_sec: number;
  idle_timeout_sec: number;
  expected_artifacts: string[];
  last_seq: number;
  /** `***` if there is one: the token itself never leaves the database. */
  auth_token: "***" | null;
};

/** Where messages go. The password itself is nowhere in the registry, only the name of the variable that has it. */
export type Broker = {
  host: string;
  port: number;
  tls: boolean;
  username: string | null;
  password_env: string | null;
};

export const registryStatuses = [
  "pending",
  "running",
  "completed",
  "error",
  "cancelled",
] as const satisfies RegistryState[];
export type RegistryStatus = RegistryState;

export function isRegistryStatus(text: string): text is RegistryStatus {
  return (registryStatuses as readonly string[]).includes(text);
}

/** No other status follows these. */
export function isFinal(status: RegistryStatus): boolean {
  return status === "completed" || status === "error" || status === "cancelled";
}

export function isRegistryJobId(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text);
}
