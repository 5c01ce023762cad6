import { type JobState, jobStates } from "../../../core/jobs/job.ts";
import type { Connection } from "../database/connection.ts";

type Counts = Record<JobState, number>;
type Owner = { tenantId: string; userId: string };

/** How many jobs of each user are in each state, kept in memory and written once per transaction. Why: ADR 0031. */
export class OwnerCounts {
  readonly #tenants = new Map<string, Map<string, Counts>>();
  readonly #changed = new Map<string, Owner>();
  #undo: (() => void)[] = [];

  constructor(connection: Connection) {
    const rows = connection.all<Counts & { tenant_id: string; user_id: string }>(
      `SELECT tenant_id, user_id, ${columns} FROM owner_counts`,
    );
    for (const { tenant_id: tenantId, user_id: userId, ...counts } of rows) {
      Object.assign(this.#of({ tenantId, userId }), counts);
    }
  }

  add(owner: Owner, state: JobState, difference: number): void {
    const counts = this.#of(owner);
    counts[state] += difference;
    this.#changed.set(`${owner.tenantId} ${owner.userId}`, owner);
    this.#undo.push(() => {
      counts[state] -= difference;
    });
  }

  mark(): number {
    return this.#undo.length;
  }

  backTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }

  flush(connection: Connection): void {
    for (const owner of this.#changed.values()) this.#write(connection, owner);
    this.#changed.clear();
    this.#undo = [];
  }

  #write(connection: Connection, owner: Owner): void {
    const { tenantId, userId } = owner;
    const counts = this.#of(owner);
    const values = jobStates.map((state) => counts[state]);
    if (values.some((count) => count !== 0)) {
      connection.run(upsertText, tenantId, userId, ...values);
      return;
    }
    connection.run("DELETE FROM owner_counts WHERE tenant_id = ? AND user_id = ?", tenantId, userId);
    const users = this.#tenants.get(tenantId)!;
    users.delete(userId);
    if (users.size === 0) this.#tenants.delete(tenantId);
  }

  #of({ tenantId, userId }: Owner): Counts {
    const users = this.#tenants.get(tenantId) ?? new Map<string, Counts>();
    this.#tenants.set(tenantId, users);
    const counts = users.get(userId) ?? none();
    users.set(userId, counts);
    return counts;
  }
}

function none(): Counts {
  return Object.fromEntries(jobStates.map((state) => [state, 0])) as Counts;
}

const columns = jobStates.join(", ");
const upsertText = `INSERT INTO owner_counts (tenant_id, user_id, ${columns})
  VALUES (?, ?, ${jobStates.map(() => "?").join(", ")})
  ON CONFLICT (tenant_id, user_id) DO UPDATE SET ${jobStates.map((state) => `${state} = excluded.${state}`).join(", ")}`;
