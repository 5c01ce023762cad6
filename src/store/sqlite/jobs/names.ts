import { parseQueueKey } from "../../../core/jobs/queue-key.ts";
import { KnownTexts } from "../../jobs/known-texts.ts";
import type { Connection } from "../database/connection.ts";
import type { RowNames } from "./read-row.ts";

/** Beyond it, what is known is read again. */
const knownMax = 10_000;

type Owner = { tenantId: string; userId: string };

/** The texts that rows name by number: owners, workers, keys and queues. What is new gets a number at once, in the transaction. Why: ADR 0116. */
export class Names implements RowNames {
  readonly #sql: Connection;
  readonly #owners = new Map<string, number>();
  readonly #ownerOf = new Map<number, Owner>();
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();
  readonly #queues = new Map<number, string>();

  constructor(sql: Connection) {
    this.#sql = sql;
  }

  ownerNumber({ tenantId, userId }: Owner): number {
    return this.#known(this.#owners, `${tenantId}\n${userId}`, () => {
      const select = "SELECT number FROM owners WHERE tenant_id = ? AND user_id = ?";
      const insert = "INSERT INTO owners (tenant_id, user_id) VALUES (?, ?) RETURNING number";
      return this.#number(select, insert, tenantId, userId);
    });
  }

  numberOf = (name: string): number =>
    this.#known(this.#numbers, name, () =>
      this.#number(
        "SELECT number FROM names WHERE name = ?",
        "INSERT INTO names (name) VALUES (?) RETURNING number",
        name,
      ),
    );

  owner(number: number): Owner {
    return this.#known(
      this.#ownerOf,
      number,
      () =>
        this.#sql.first<Owner>(
          "SELECT tenant_id AS tenantId, user_id AS userId FROM owners WHERE number = ?",
          number,
        ) ?? { tenantId: "", userId: "" },
    );
  }

  name(number: number): string {
    return this.#known(
      this.#names,
      number,
      () => this.#sql.first<{ name: string }>("SELECT name FROM names WHERE number = ?", number)?.name ?? "",
    );
  }

  queueKey(number: number): string {
    return this.#known(
      this.#queues,
      number,
      () => this.#sql.first<{ key: string }>("SELECT key FROM queues WHERE id = ?", number)?.key ?? "",
    );
  }

  typeOf(queueId: number): string {
    return types.of(this.queueKey(queueId));
  }

  /** Numbers were given in a transaction that is rolled back, or a queue is gone. */
  forget(): void {
    for (const known of [this.#owners, this.#ownerOf, this.#numbers, this.#names, this.#queues])
      known.clear();
  }

  #number(select: string, insert: string, ...values: string[]): number {
    const row =
      this.#sql.first<{ number: number }>(select, ...values) ??
      this.#sql.first<{ number: number }>(insert, ...values)!;
    return row.number;
  }

  #known<Key, Value>(known: Map<Key, Value>, key: Key, find: () => Value): Value {
    let value = known.get(key);
    if (value === undefined) {
      value = find();
      if (known.size >= knownMax) known.clear();
      known.set(key, value);
    }
    return value;
  }
}

const types = new KnownTexts((key: string) => (key === "" ? "" : parseQueueKey(key).type));
