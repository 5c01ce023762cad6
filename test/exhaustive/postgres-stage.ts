import pg from "pg";
import { openPostgresStore } from "../../src/store/postgres/open-store.ts";
import type { Store } from "../../src/store/store.ts";
import { postgresTamper } from "../store-contract/postgres-tamper.ts";
import { macKey, Scene } from "../store-contract/scene.ts";
import type { StoreUnderTest } from "../store-contract/under-test.ts";
import { PostgresCluster } from "../support/postgres-cluster.ts";
import { FrameProxy } from "./frame-proxy.ts";
import type { Stored } from "./verdict.ts";

/** What belongs to connections and hubs, and not to acts. */
const notStored = ["lanes", "hubs", "schema_steps"];

/** A queue without jobs is as good as none: it is made before the transaction that needs it, and removed much later. */
const isSeen: Record<string, string> = { queues: "WHERE jobs > 0" };

/** Only the order of turns counts. Claims that failed have used up some of them. */
const changed: Record<string, string> = {
  tenants: " || jsonb_build_object('turn', rank() OVER (ORDER BY turn))",
};

/** A database whose state can be read, kept and put back, and a proxy in front of it. */
export class PostgresStage {
  readonly cluster: PostgresCluster;
  readonly proxy: FrameProxy;
  readonly #url: string;
  #client: pg.Client | null = null;
  #tables: string[] = [];
  #sequences: string[] = [];

  static async open(): Promise<PostgresStage> {
    const settings = ["fsync=off", "full_page_writes=off", "autovacuum=off"];
    const stage = new PostgresStage(await PostgresCluster.start({ prefix: "writ-exhaustive-", settings }));
    await stage.#make();
    return stage;
  }

  private constructor(cluster: PostgresCluster) {
    this.cluster = cluster;
    this.proxy = new FrameProxy(cluster.port);
    this.#url = cluster.url("stage");
  }

  async #make(): Promise<void> {
    const admin = new pg.Client({ connectionString: this.cluster.url("postgres") });
    await admin.connect();
    await admin.query("CREATE DATABASE stage");
    await admin.end();
    await (await openPostgresStore({ url: this.#url, macKey })).close();
    await this.proxy.listen();
    // The store under test belongs to a hub that leads.
    await this.#query("INSERT INTO writ.leader (term) VALUES (1); CREATE SCHEMA kept");
    const names = (rows: unknown[]) => (rows as { name: string }[]).map(({ name }) => name);
    this.#tables = names(
      await this.#query(`SELECT relname AS name FROM pg_class WHERE relnamespace = 'writ'::regnamespace
        AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`),
    ).filter((name) => !notStored.includes(name));
    this.#sequences = names(
      await this.#query("SELECT sequencename AS name FROM pg_sequences WHERE schemaname = 'writ' ORDER BY 1"),
    );
    for (const name of [...this.#tables, ...this.#sequences])
      await this.#query(`CREATE TABLE kept.${name} AS TABLE writ.${name}`);
    await this.#query(
      this.#tables.map((name) => `CREATE TABLE kept.empty_${name} AS TABLE writ.${name}`).join(";"),
    );
  }

  /** A scene on the database as it was at first, without the proxy. */
  async openScene(): Promise<Scene> {
    await this.#putBack(this.#tables, "kept.empty_");
    await this.#query(this.#sequences.map((name) => `ALTER SEQUENCE writ.${name} RESTART`).join(";"));
    const under = {
      open: () => openPostgresStore({ url: this.#url, macKey }),
      tamper: postgresTamper(async () => this.#url),
    } as StoreUnderTest;
    return Scene.open(under);
  }

  /** The store that a fault will meet. */
  openThroughProxy(): Promise<Store> {
    const url = this.#url.replace(/:\d+\//, `:${this.proxy.port}/`);
    return openPostgresStore({ url, macKey, term: () => 1 });
  }

  async read(): Promise<Stored> {
    const parts = this.#tables.map(
      (name) => `SELECT '${name}' AS name, (SELECT string_agg(row, E'\\n' ORDER BY row)
        FROM (SELECT (to_jsonb(t)${changed[name] ?? ""})::text AS row FROM writ.${name} t ${isSeen[name] ?? ""}) AS rows) AS rows`,
    );
    const rows = (await this.#query(parts.join(" UNION ALL "))) as { name: string; rows: string | null }[];
    return Object.fromEntries(rows.map(({ name, rows }) => [name, rows ?? ""]));
  }

  /** Keeps the state of now. */
  async keep(): Promise<void> {
    const texts = [...this.#tables, ...this.#sequences].map(
      (name) => `DELETE FROM kept.${name}; INSERT INTO kept.${name} SELECT * FROM writ.${name}`,
    );
    await this.#query(texts.join(";"));
  }

  /** Puts the kept state back, of those tables that differ from it. */
  async putBack(differing: string[]): Promise<void> {
    await this.#putBack([...new Set([...differing, ...Object.keys(isSeen)])], "kept.");
    await this.#query(
      `DELETE FROM writ.lanes; ${this.#sequences.map((name) => `SELECT setval('writ.${name}', last_value, is_called) FROM kept.${name}`).join(";")}`,
    );
  }

  async #putBack(names: string[], from: string): Promise<void> {
    const texts = names.map(
      (name) =>
        `DELETE FROM writ.${name}; INSERT INTO writ.${name} OVERRIDING SYSTEM VALUE SELECT * FROM ${from}${name}`,
    );
    await this.#query(`SET session_replication_role = replica; ${texts.join(";")}`);
  }

  /** Numbers that the server has given out count on from here: after a fault, some of them are used up. */
  async sequences(): Promise<string> {
    const texts = this.#sequences.map(
      (name) =>
        `SELECT format('SELECT setval(%L, %s, %L)', 'writ.${name}', last_value, is_called) AS text FROM writ.${name}`,
    );
    const rows = (await this.#query(texts.join(" UNION ALL "))) as { text: string }[];
    return rows.map(({ text }) => text).join(";");
  }

  async run(text: string): Promise<void> {
    await this.#query(text);
  }

  /** Ends a process of the server. */
  async terminate(processId: number): Promise<void> {
    await this.#query(`SELECT pg_terminate_backend(${processId})`);
  }

  async endServer(signal: "SIGINT" | "SIGQUIT"): Promise<void> {
    await this.#drop();
    await this.cluster.end(signal);
  }

  async close(): Promise<void> {
    await this.#drop();
    await this.proxy.stop();
    await this.cluster.stop();
  }

  async #query(text: string): Promise<unknown[]> {
    if (this.#client === null) {
      this.#client = new pg.Client({ connectionString: this.#url });
      this.#client.on("error", () => {});
      await this.#client.connect();
    }
    const answer: unknown = await this.#client.query(text);
    return Array.isArray(answer) ? [] : (answer as pg.QueryResult).rows;
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end();
  }
}
