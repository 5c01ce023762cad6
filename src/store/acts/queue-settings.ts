// Quotas of tenants, and types that are paused. Why: ADR 0111.
import type { Origin } from "../../core/events.ts";
import type { Quota } from "../../core/jobs/quota.ts";
import { queuePaused, quotaChanged } from "../log/act-events.ts";
import { type Act, run } from "./act.ts";
import type { WriteDriver } from "./driver.ts";

type QuotaInput = { tenantId: string; quota: Quota; nowMs: number; origin: Origin | null };

export function* putQuota(driver: WriteDriver, input: QuotaInput): Act<void> {
  const { tenantId, quota } = input;
  yield* run(
    "INSERT INTO quotas (tenant_id, quota) VALUES (?, ?) ON CONFLICT (tenant_id) DO UPDATE SET quota = excluded.quota",
    tenantId,
    JSON.stringify(quota),
  );
  driver.changeSettings((book) => book.setQuota(tenantId, quota));
  driver.append(quotaChanged(tenantId, quota, input));
  // A higher limit may release jobs that were held back.
  driver.notice.released(driver.book.tenant(tenantId).queues);
}

type PauseInput = { type: string; paused: boolean; nowMs: number; origin: Origin | null };

export function* setQueuePaused(driver: WriteDriver, input: PauseInput): Act<void> {
  const { type, paused } = input;
  const changed = paused
    ? yield* run("INSERT INTO paused_types (type) VALUES (?) ON CONFLICT DO NOTHING", type)
    : yield* run("DELETE FROM paused_types WHERE type = ?", type);
  if (changed === 0) return;
  driver.changeSettings((book) => book.setPaused(type, paused));
  driver.append(queuePaused(type, paused, input));
  if (!paused) driver.notice.released(driver.book.all().filter(({ facts }) => facts.type === type));
}
