import type { Identity } from "../../../core/identity.ts";
import type { HubDeps } from "../../deps.ts";
import { sharedLabel } from "../../services/metrics/label-budget.ts";

/** Of the hub as a whole, and no secret: a dashboard shows which version it looks at. */
const ofEverybody = "writ_info{";

/**
 * Metrics as text for Prometheus. A caller of one tenant gets the series of that tenant alone: what has no tenant counts the
 * jobs, the calls and the bytes of all of them.
 */
export async function readMetrics(
  { metrics }: Pick<HubDeps, "metrics">,
  { tenantId }: Identity,
): Promise<string> {
  const text = await metrics.registry.metrics();
  if (tenantId === null) return text;
  const isTold = (line: string): boolean => line.startsWith(ofEverybody) || isOf(tenantId, line);
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
  // Tenants without a label of their own share this one, whatever a tenant is called.
  return tenant === tenantId && tenant !== sharedLabel;
}
