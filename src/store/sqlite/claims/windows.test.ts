import { expect, test } from "vitest";
import { plainFacts } from "../../../core/jobs/queue-key.testing.ts";
import { queueKey } from "../../../core/jobs/queue-key.ts";
import { Candidates } from "../../queues/claim-candidates.ts";
import { type Candidate, QueueBook } from "../../queues/queue-book.ts";
import { Windows } from "./windows.ts";

test("claims take every job of a queue that is longer than its window, in order", () => {
  const jobs = 9_000;
  const table = new Set<number>();
  const book = new QueueBook({ queues: [], turns: [], pausedTypes: [], quotas: [] });
  const queue = book.enter({ id: 1, key: queueKey(plainFacts), pending: 0, active: 0, jobs: 0 });
  const readTable = (limit: number): Candidate[] =>
    [...table].slice(0, limit).map((seq) => ({ seq, priority: 5 }));
  const windows = new Windows((_, limit) => readTable(limit));
  for (let seq = 1; seq <= jobs; seq++) {
    queue.pending++;
    table.add(seq);
    windows.add(queue, { seq, priority: 5 });
    book.nowReady(queue, { seq, priority: 5 });
  }

  const claim = (wanted: number): number[] => {
    const readPage = (_: unknown, limit: number) => windows.front(queue, limit);
    const candidates = new Candidates(book, [queue], { wanted, readPage });
    const taken: number[] = [];
    for (let next = candidates.peek(); next !== null && taken.length < wanted; next = candidates.peek()) {
      candidates.take();
      taken.push(next.seq);
      table.delete(next.seq);
      windows.remove(queue, next);
    }
    return taken;
  };

  const claimed: number[] = [];
  for (let batch = claim(50); batch.length > 0; batch = claim(50)) claimed.push(...batch);
  expect(claimed).toEqual(Array.from({ length: jobs }, (_, index) => index + 1));
});
