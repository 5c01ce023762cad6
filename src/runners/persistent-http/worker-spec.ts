import type { AskedLimits } from "../../sandbox/sandbox.ts";
import { effectiveLimits } from "../effective-limits.ts";
import { refuseClosedNetwork } from "../egress/refuse-closed-network.ts";
import { readSecrets } from "../read-secrets.ts";
import type { RunContext, RunnerSettings } from "../runner.ts";

/** Everything that decides about a process which serves jobs over HTTP. */
export type WorkerSpec = {
  tenantId: string;
  command: readonly string[];
  port: number;
  /** Values by name. */
  secrets: Readonly<Record<string, string>>;
  masks: readonly string[];
  asked: AskedLimits;
};

/** The worker that a job asks for. */
export async function workerSpec(
  settings: RunnerSettings,
  { document, lease, secrets: given }: Pick<RunContext, "document" | "lease" | "secrets">,
): Promise<WorkerSpec> {
  const { run, tenant_id: tenantId, limits } = document;
  if (run.kind !== "persistent_http")
    throw new Error(`the persistent_http runner was given a job of kind ${run.kind}`);
  refuseClosedNetwork(document, "a process that serves many jobs");
  const asked = withoutClosed(effectiveLimits(limits ?? {}, settings, lease.limits_defaulted));
  const secrets = await readSecrets(settings.secrets, run.secrets ?? [], tenantId);
  const { worker_command: command, port } = run;
  return { tenantId, command, port, secrets, masks: given.add(secrets), asked };
}

/** A closed network is that of one job, so under such a ceiling the process has none. */
function withoutClosed(asked: AskedLimits): AskedLimits {
  if (asked.limits.network !== "closed") return asked;
  return { ...asked, limits: { ...asked.limits, network: "none" } };
}

/** Whether the same process may serve both: tenant, command, port and names of secrets are the same. */
export function isSameWorker(left: WorkerSpec, right: WorkerSpec): boolean {
  return identityOf(left) === identityOf(right);
}

/** Whether a process that was started for one serves the other as it should: also its limits and the secrets' values. */
export function hasSameTerms(left: WorkerSpec, right: WorkerSpec): boolean {
  return termsOf(left) === termsOf(right);
}

function identityOf({ tenantId, command, port, secrets }: WorkerSpec): string {
  return JSON.stringify([tenantId, command, port, Object.keys(secrets).sort()]);
}

function termsOf({ secrets, asked }: WorkerSpec): string {
  const values = Object.entries(secrets).sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([values, asked.limits, [...asked.asked].sort()]);
}
