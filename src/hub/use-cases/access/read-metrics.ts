import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";

/** All metrics as text for Prometheus; for a caller of one tenant, without the lines of the others. */
export async function readMetrics(
  { metrics }: Pick<HubDeps, "metrics">,
  identity: Identity,
): Promise<string> {
  const text = await metrics.registry.metrics();
  const { tenantId } = identity;
  if (tenantId === null) return text;
  return text
    .split("\n")
    .filter((line) => {
      const [, tenant = tenantId] = /^[a-z_]+\{(?:[^"]*"[^"]*",)*?tenant="([^"]*)"/.exec(line) ?? [];
      return tenant === tenantId;
    })
    .join("\n");
}
