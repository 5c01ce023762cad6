import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { prepareHome } from "../src/hub/home/first-start.ts";
import { loadHubSettings } from "../src/hub/settings/settings.ts";
import { openKeyRing } from "../src/signing/key-ring.ts";
import { sha256Hex } from "../src/signing/mac.ts";
import { openWorkerKey } from "../src/worker/worker-key.ts";
import { makeTemplate } from "./disk.ts";
import { workerIds } from "./plan.ts";
import type { Stage } from "./schedule.ts";
import { epochMs } from "./world.ts";

/** Short, so that a schedule of some seconds has many leases, rounds and retries in it. */
const env = {
  WRIT_LEASE_MS: "2000",
  WRIT_REAPER_INTERVAL_MS: "500",
  WRIT_WORKER_INACTIVE_MS: "8000",
  WRIT_BACKOFF_SCALE: "0.02",
};

/** Makes what all schedules share: keys, settings, tokens, and a database without jobs. */
export async function openStage(parent: string): Promise<Stage> {
  const client = "sk_user_simulated_simulated_simulated";
  const worker = (workerId: string): string => `sk_worker_simulated_${workerId}_simulated`;
  const tokens = [
    { ...tokenOf(client), role: "user" as const, tenantId: "default", userId: "producer", workerId: null },
    ...workerIds.map((workerId) => ({
      ...tokenOf(worker(workerId)),
      role: "worker" as const,
      tenantId: null,
      userId: workerId,
      workerId,
    })),
  ];
  const template = makeTemplate(parent, tokens);
  await prepareHome(template.dir);
  for (const workerId of workerIds) {
    const dir = join(template.dir, workerId);
    mkdirSync(join(dir, "work"), { recursive: true });
    await openWorkerKey(dir);
  }
  const settings = await loadHubSettings({ home: template.dir, flags: {}, env: { ...env } });
  const keys = openKeyRing(join(template.dir, "keys"), { nowMs: epochMs });
  return { template, settings, tokens: { client, worker }, signingKeys: [keys.signing.publicKeyPem] };
}

function tokenOf(secret: string) {
  return { id: sha256Hex(secret).slice(0, 12), secretHash: sha256Hex(secret), createdAt: 0, expiresAt: null };
}
