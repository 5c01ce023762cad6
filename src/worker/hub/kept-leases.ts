import type { DisconnectAct } from "../../core/jobs/document.ts";
import type { Lease } from "../../signing/lease.ts";
import { type KeeperMessage, type KeptLease, overdueAtMs } from "./lease-keeper.ts";

/** The leases that a worker holds, and until when each of them is surely its own. */
export class KeptLeases {
  readonly #leases = new Map<string, KeptLease>();
  readonly #monotonicMs: () => number;
  #leaseMs: number | undefined;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  hold(key: string, lease: Lease, onDisconnect: DisconnectAct): KeptLease {
    const kept: KeptLease = {
      key,
      jobId: lease.job_id,
      attempt: lease.attempt,
      token: lease.token,
      pid: 0,
      renewedAtMs: this.#monotonicMs(),
      leaseMs: this.#leaseMs ?? shortestLeaseMs(lease),
      onDisconnect,
    };
    this.#leases.set(key, kept);
    return kept;
  }

  get(key: string): KeptLease | undefined {
    return this.#leases.get(key);
  }

  drop(key: string): void {
    this.#leases.delete(key);
  }

  keys(): IterableIterator<string> {
    return this.#leases.keys();
  }

  /** A lease that was not renewed since may be another worker's by now. */
  isCurrent(key: string): boolean {
    const lease = this.#leases.get(key);
    return lease !== undefined && this.#monotonicMs() < overdueAtMs(lease);
  }

  /** A lease does not count as renewed if whatever renews it did not know it yet when it called the hub. */
  noteRenewal({ renewed, leaseMs, sentAtMs }: Extract<KeeperMessage, { kind: "answer" }>): void {
    this.#leaseMs = leaseMs;
    for (const key of renewed) {
      const lease = this.#leases.get(key);
      if (lease === undefined || lease.renewedAtMs > sentAtMs) continue;
      lease.renewedAtMs = sentAtMs;
      lease.leaseMs = leaseMs;
    }
  }
}

/** The times in a lease are whole seconds, rounded outwards: until the hub has said more, assume the shortest. */
function shortestLeaseMs(lease: Lease): number {
  return Math.max(1_000, (lease.expires_at_ts - lease.issued_at_ts - 2) * 1_000);
}
