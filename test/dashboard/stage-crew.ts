import { generateSigningKey } from "../../src/signing/ed25519.ts";
import { registerWorker } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";
import { StageActs } from "./stage-acts.ts";
import { machines } from "./stage-machines.ts";

/** How long ago fir-edge-1 was heard of for the last time. */
const silentSinceMs = 128_000;

/** The people and the workers of the stage. */
export class StageCrew extends StageActs {
  /** The job whose use of its machine is reported, and since when it runs. */
  metered: string | null = null;
  meteredSince = 0;

  async people(): Promise<void> {
    const people = [
      { name: "ci", role: "user", tenant: "default" },
      { name: "release-bot", role: "user", tenant: "default" },
      { name: "media-api", role: "user", tenant: "media" },
      { name: "research-api", role: "user", tenant: "research" },
      { name: "shop", role: "user", tenant: "storefront" },
      { name: "wall-screen", role: "viewer", tenant: undefined },
    ] as const;
    for (const { name, role, tenant } of people) {
      const wish = { role, user_id: name, ...(tenant === undefined ? {} : { tenant_id: tenant }) };
      this.tokens[name] = (await issueToken(this.hub, wish)).token;
    }
  }

  async fleet(): Promise<void> {
    for (const { id, slots, cores, ramGb, tags, cpu, mem, location } of machines) {
      const { signingKey: key } = generateSigningKey();
      const fields = {
        slots,
        cores,
        ram_gb: ramGb,
        tags,
        version: "0.1.0",
        public_key: key.publicKeyPem,
        isolation: isolationOf(id),
      };
      await registerWorker(this.hub, { worker_id: id, ...fields, ...(location ? { location } : {}) });
      this.machines.set(id, { id, key, slots, cores, ramGb, cpu, mem });
      this.held.set(id, []);
    }
  }

  /** Every worker reports the load of its machine; fir-edge-1 fell silent two minutes ago. */
  async beat(): Promise<void> {
    const nowMs = this.clock.nowMs();
    for (const { id, slots, cores, ramGb, cpu, mem } of this.machines.values()) {
      if (id === "fir-edge-1" && this.clock.agoMs < silentSinceMs) continue;
      const held = this.held.get(id) ?? [];
      const jobs = held.map(({ id: job_id, fence }) => ({
        job_id,
        attempt: fence.attempt,
        token: fence.token,
        ...(job_id === this.metered ? { usage: this.#usageNow(nowMs) } : {}),
      }));
      await this.worker("/workers/heartbeat", { worker_id: id, status: "active", current_jobs: jobs });
      const wave = Math.sin(nowMs / 400_000 + cores) * 9 + Math.sin(nowMs / 90_000) * 4;
      await this.worker(`/workers/${id}/metrics`, {
        ts: nowMs,
        cpu_percent: Math.max(2, Math.min(99, cpu + wave)),
        load1: cores / 2,
        mem_used_bytes: Math.round(ramGb * 2 ** 30 * (mem / 100)),
        mem_total_bytes: ramGb * 2 ** 30,
        disk_free_bytes: 4e11,
        slots_used: Math.min(slots, held.length + this.#busyThen(nowMs, slots)),
        slots,
      });
    }
  }

  /** What the job of the pictures has used: 1.86 of 2 cores since it began. */
  #usageNow(nowMs: number) {
    const ranMs = nowMs - this.meteredSince;
    return {
      cpu_ms: Math.round(ranMs * 1.86),
      memory_bytes: 1341 * 2 ** 20,
      memory_peak_bytes: 1659 * 2 ** 20,
      pids: 18,
      pids_peak: 24,
      io_read_bytes: Math.round(ranMs * 2.2 * 1049),
      io_write_bytes: Math.round(ranMs * 7.9 * 1049),
    };
  }

  /** How many slots small jobs took in the past; now only those count that are really held. */
  #busyThen(nowMs: number, slots: number): number {
    if (this.clock.agoMs < 140_000) return 0;
    return Math.max(
      0,
      Math.round(slots * (0.5 + 0.25 * Math.sin(nowMs / 500_000) + 0.12 * Math.sin(nowMs / 71_000))),
    );
  }
}

/** Two hosts give no memory controller. */
function isolationOf(id: string) {
  const isLess = id === "elm-cloud-1" || id === "fir-edge-1";
  const missing = [{ part: "memory", why: "the host gives no memory controller" }];
  return isLess ? { level: "best-effort", missing } : { level: "strict", missing: [] };
}
