import { expect, it } from "vitest";
import { plainFacts, plainWorker } from "../../core/jobs/queue-key.testing.ts";
import { type QueueFacts, queueKey } from "../../core/jobs/queue-key.ts";
import { type Queue, QueueBook } from "./queue-book.ts";

const worker = { name: "w", facts: plainWorker };
const one = { jobs: 1, pending: 1, active: 0 };
const none = { jobs: 0, pending: -1, active: 1 };

/** A tenant with so many types, each with one pending job, and how often their facts were looked at. */
function manyTypes(count: number) {
  const book = new QueueBook({ queues: [], turns: [], pausedTypes: [], quotas: [] });
  const looks = { count: 0 };
  const queues = Array.from({ length: count }, (_, index) => {
    const key = queueKey({ ...plainFacts, type: `t${index}` });
    const queue = book.enter({ id: index + 1, key, pending: 0, active: 0, jobs: 0 });
    return watched(queue, looks);
  });
  for (const queue of queues) book.adjust(queue, one);
  return { book, queues, looks, tenant: queues[0]!.tenant };
}

function watched(queue: Queue, looks: { count: number }): Queue {
  const { facts } = queue;
  const get = (): QueueFacts => {
    looks.count++;
    return facts;
  };
  return Object.defineProperty(queue, "facts", { get });
}

it("A12: compares a queue with a kind of worker once, until it has been empty", () => {
  const { book, queues, looks, tenant } = manyTypes(1_000);
  expect(book.claimable(tenant, worker)).toHaveLength(1_000);
  expect(looks.count).toBe(1_000);
  for (const queue of queues.slice(1)) book.adjust(queue, none);
  expect(book.claimable(tenant, worker)).toEqual([queues[0]]);
  book.adjust(queues[5]!, one);
  expect(book.claimable(tenant, worker)).toEqual([queues[0], queues[5]]);
  expect(looks.count).toBe(1_001);
});

it("A12: shows no tenant without pending jobs, and gives a worker of one tenant only that tenant", () => {
  const { book, queues, tenant } = manyTypes(2);
  const other = book.enter({ id: 9, key: queueKey({ ...plainFacts, tenant_id: "other" }), ...one });
  expect(book.line(plainWorker)).toEqual([tenant, other.tenant]);
  expect(book.line({ tenantId: "other" })).toEqual([other.tenant]);
  for (const queue of queues) book.adjust(queue, none);
  expect(book.line(plainWorker)).toEqual([other.tenant]);
  expect(book.line({ tenantId: tenant.id })).toEqual([]);
});

it("remembers no more arrivals than it needs, and finds everything afterwards", () => {
  const { book, queues, tenant } = manyTypes(2);
  for (let turn = 0; turn < 3_000; turn++) {
    book.adjust(queues[0]!, none);
    book.adjust(queues[0]!, one);
    if (turn % 700 === 0) expect(book.claimable(tenant, worker)).toHaveLength(2);
  }
  expect(new Set(book.claimable(tenant, worker))).toEqual(new Set(queues));
});
