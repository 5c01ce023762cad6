import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { Writ } from "../src/client/index.ts";

type Filter = Parameters<Writ["listPage"]>[0];
/** The hub, and the tokens of an administrator and of a reader of one tenant. */
export type ListSource = { url: string; admin: string; tenant: string };
export type Lists = { read: Record<string, () => Promise<unknown>>; close(): void };

/** Filters that match all jobs, few of them and none, for an administrator and for a tenant. */
const filters: Record<string, [who: "admin" | "tenant", filter: Filter]> = {
  "no filter": ["admin", {}],
  "a status that all have": ["admin", { status: "failed" }],
  "a status that none has": ["admin", { status: "completed" }],
  "a type": ["admin", { type: "old-7" }],
  "a type and a status": ["admin", { type: "old-7", status: "failed" }],
  "a type that has none": ["admin", { type: "nothing" }],
  "a tenant": ["tenant", {}],
  "a tenant and a status that none has": ["tenant", { status: "completed" }],
};

export function openLists({ url, admin, tenant }: ListSource): Lists {
  const clients = { admin: new Writ({ url, token: admin }), tenant: new Writ({ url, token: tenant }) };
  const read = Object.fromEntries(
    Object.entries(filters).map(([name, [who, filter]]) => [
      name,
      () => clients[who].listPage(filter, { limit: 50 }),
    ]),
  );
  const close = () => {
    for (const client of Object.values(clients)) client.close();
  };
  return { read, close };
}

/**
 * Readers that never pause, in a thread of their own: what they do with the pages must not hold up the program that takes
 * the time of submissions. Resolves once each has read a page, with a function that ends them.
 */
export async function startReaders(source: ListSource, count: number): Promise<() => Promise<void>> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { source, count } });
  const ended = new Promise<void>((resolve, reject) => {
    thread.once("exit", () => resolve());
    thread.once("error", reject);
  });
  await Promise.race([new Promise((resolve) => thread.once("message", resolve)), ended]);
  return () => {
    thread.postMessage("end");
    return ended;
  };
}

if (!isMainThread) await readOn(workerData);

async function readOn({ source, count }: { source: ListSource; count: number }): Promise<void> {
  const lists = openLists(source);
  let isOver = false;
  parentPort!.once("message", () => {
    isOver = true;
  });
  let begun = 0;
  const readAll = async () => {
    for (const [index, read] of Object.values(lists.read).entries()) {
      if (isOver) return;
      await read();
      if (index === 0 && begun < count && ++begun === count) parentPort!.postMessage("begun");
    }
  };
  await Promise.all(
    Array.from({ length: count }, async () => {
      while (!isOver) await readAll();
    }),
  );
  lists.close();
}
