import type { TestHub } from "../support/hub.ts";
import { submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";

/** What each tenant may use, for pictures. */
export async function stageQuotas(hub: TestHub): Promise<void> {
  const quotas = {
    default: { max_pending: 20_000, max_running: 24, submits_per_sec: 200 },
    media: { max_running: 12, max_artifact_bytes: 50 * 2 ** 30 },
    research: { max_pending: 5, max_running: 24 },
    storefront: { max_pending: 20_000, max_running: 24, submits_per_sec: 500, max_output_bytes: 2 ** 28 },
  };
  for (const [tenant, quota] of Object.entries(quotas)) {
    await hub.must("PUT", `/tenants/${tenant}/quota`, { token: hub.admin, body: quota });
  }
}

/** What administrators look at, for pictures: a paused type, refusals and a key that was replaced. */
export async function stageAdministration(hub: TestHub): Promise<void> {
  await hub.must("PUT", "/queues/report.monthly", { token: hub.admin, body: { paused: true } });
  const { token: shop } = await issueToken(hub, { role: "user", user_id: "shop", tenant_id: "storefront" });
  for (const type of ["report.monthly", "report.monthly", "mail.digest"]) {
    await submitJob(hub, { token: shop, type });
  }
  await hub.call("GET", "/tokens", { token: shop });
  await hub.call("GET", "/jobs", { token: "sk_user_nobody" });
  await hub.must("POST", "/keys/rotate", { token: hub.admin });
}
