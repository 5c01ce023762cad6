import { expect, it } from "vitest";
import { plainFacts, plainWorker } from "../../core/jobs/queue-key.testing.ts";
import { queueKey } from "../../core/jobs/queue-key.ts";
import { type Queue, QueueBook } from "./queue-book.ts";

const key = queueKey(plainFacts);
const row = { id: 1, key, pending: 2, active: 1, jobs: 5 };

function aBook(): { book: QueueBook; queue: Queue } {
  const turns = [{ tenantId: "acme", turn: 4 }];
  const book = new QueueBook({ queues: [row], turns, pausedTypes: [], quotas: [] });
  return { book, queue: book.byId(1)! };
}

it("sums up the queues of a tenant", () => {
  const { book, queue } = aBook();
  book.adjust(queue, { jobs: 0, pending: -1, active: 1 });
  expect(book.tenant("acme")).toMatchObject({ pending: 1, active: 2, turn: 4 });
  expect(book.takeChanges()).toMatchObject({ queues: [{ id: 1, pending: 1, active: 2 }], tenants: [] });
  expect(book.takeChanges()).toEqual({ queues: [], tenants: [] });
});

it("takes back everything since a mark, and nothing before it", () => {
  const { book, queue } = aBook();
  book.setQuota("acme", { max_running: 1 });
  const mark = book.mark();
  book.adjust(queue, { jobs: 1, pending: 1, active: 0 });
  book.served(queue.tenant, 9);
  book.setPaused("build", true);
  book.setQuota("acme", {});
  book.enter({ ...row, id: 2, key: key.replace("acme", "other") });
  book.backTo(mark);
  expect(book.all()).toMatchObject([row]);
  expect(book.tenant("acme")).toMatchObject({ pending: 2, active: 1, turn: 4 });
  expect(book.isPaused("build")).toBe(false);
  expect(book.quota("acme")).toEqual({ max_running: 1 });
  expect(book.line(plainWorker)).toEqual([book.tenant("acme")]);
  expect(book.claimable(queue.tenant, { name: "w", facts: plainWorker })).toEqual([queue]);
});

it("writes a queue that was counted, then removed, then came back when its removal failed", () => {
  const { book, queue } = aBook();
  book.adjust(queue, { jobs: -5, pending: -2, active: -1 });
  const mark = book.mark();
  book.leave(queue);
  expect(book.byKey(key)).toBeUndefined();
  book.backTo(mark);
  expect(book.takeChanges().queues).toMatchObject([{ id: 1, pending: 0, jobs: 0 }]);
});
