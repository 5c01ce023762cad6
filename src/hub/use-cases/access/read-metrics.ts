import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { sharedLabel } from "../../services/metrics/label-budget.ts";

/** A series of the whole hub that is no secret: dashboards show the hub's version. */
const ofWholeHub = "writ_info{";

/**
 * Metrics as text for Prometheus. A caller of one tenant gets the series of that tenant alone: series without a tenant
 * count the jobs, calls and bytes of all tenants.
 */
export async function readMetrics(
  { metrics }: Pick<HubDeps, "metrics">,
  { tenantId }: Identity,
): Promise<string> {
  const text = await metrics.registry.metrics();
  if (tenantId === null) return text;
  const isTold = (line: string): boolean => line.startsWith(ofWholeHub) || isOf(tenantId, line);
  return text
    .split(/^(?=# HELP )/m)
    .map((metric) => {
      const lines = metric.split("\n");
      const samples = lines.filter((line) => !line.startsWith("#") && isTold(line));
      if (samples.length === 0) return "";
      return [...lines.filter((line) => line.startsWith("#")), ...samples, ""].join("\n");
    })
    .join("");
}

function isOf(tenantId: string, line: string): boolean {
  const [, tenant] = /^[a-z_]+\{(?:[^"]*"[^"]*",)*?tenant="([^"]*)"/.exec(line) ?? [];
  // Tenants without a label of their own share this one, even if a tenant has this name.
  return tenant === tenantId && tenant !== sharedLabel;
}
