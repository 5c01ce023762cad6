import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { peersFolder } from "./needs.ts";

/**
 * The parts of the peers' packages that the benchmarks call. They are written down here because the packages are only
 * installed by a run with --peers, and the types have to be checked without them.
 */
export type BullMq = {
  Queue: new (name: string, options: object) => BullQueue;
  Worker: new (name: string, handler: (job: BullJob) => Promise<unknown>, options: object) => BullWorker;
};
export type BullJob = { data: unknown };
export type BullQueue = {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: unknown): Promise<unknown>;
  addBulk(jobs: { name: string; data: unknown }[]): Promise<unknown>;
  getJobCounts(...states: string[]): Promise<Record<string, number>>;
  obliterate(options: { force: boolean }): Promise<void>;
  close(): Promise<void>;
};
export type BullWorker = {
  waitUntilReady(): Promise<unknown>;
  on(event: string, listener: () => void): unknown;
  close(): Promise<void>;
};

export type PgBossModule = { PgBoss: new (options: object) => PgBoss };
export type PgBoss = {
  on(event: "error", listener: (error: Error) => void): unknown;
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: { data: object }[]): Promise<unknown>;
  deleteAllJobs(name: string): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: { data: unknown }[]) => Promise<unknown>,
  ): Promise<string>;
  offWork(name: string, options: object): Promise<void>;
};

export type Undici = {
  Pool: new (origin: string, options: object) => UndiciPool;
};
export type UndiciPool = {
  request(
    options: object,
  ): Promise<{ body: AsyncIterable<Buffer> & { arrayBuffer(): Promise<ArrayBuffer> } }>;
  close(): Promise<void>;
};

export type Graphile = {
  makeWorkerUtils(options: object): Promise<GraphileUtils>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
  Logger: new (factory: () => () => void) => object;
};
export type GraphileUtils = {
  migrate(): Promise<void>;
  addJob(task: string, payload: unknown): Promise<unknown>;
  addJobs(jobs: { identifier: string; payload: unknown }[]): Promise<unknown>;
  release(): Promise<void>;
};

export type Pg = { Pool: new (options: object) => PgPool };
type PgClient = { on(event: "error", listener: () => void): unknown };
export type PgPool = {
  on(event: "connect" | "error", listener: (client: PgClient) => void): unknown;
  query(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
  end(): Promise<void>;
};

type PostgresConnection = {
  unsafe(text: string, values?: unknown[], options?: object): Promise<unknown>;
  release(): void;
};
export type PostgresJs = (options: object) => {
  reserve(): Promise<PostgresConnection>;
  end(): Promise<void>;
};

export const loadBullMq = () => load<BullMq>("bullmq");
export const loadPgBoss = () => load<PgBossModule>("pg-boss");
export const loadGraphile = () => load<Graphile>("graphile-worker");
export const loadPg = () => load<Pg>("pg");
export const loadUndici = () => load<Undici>("undici");
export const loadPostgresJs = async () => (await load<{ default: PostgresJs }>("postgres")).default;

const inPeersFolder = createRequire(join(peersFolder, "package.json"));

async function load<T>(name: string): Promise<T> {
  const loaded = await import(pathToFileURL(inPeersFolder.resolve(name)).href);
  // A CommonJS module shows all that it has as its default.
  return { ...loaded.default, ...loaded } as T;
}
