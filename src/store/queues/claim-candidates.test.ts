import { describe, expect, it } from "vitest";
import { plainFacts } from "../../core/jobs/queue-key.testing.ts";
import { queueKey } from "../../core/jobs/queue-key.ts";
import { Candidates } from "./claim-candidates.ts";
import { type Candidate, isBetter, type Queue, QueueBook } from "./queue-book.ts";

/** Queues with these jobs, and how often one was read. */
function stage(jobsOfQueues: Candidate[][]) {
  const book = new QueueBook({ queues: [], turns: [], pausedTypes: [], quotas: [] });
  const jobs = new Map<Queue, Candidate[]>();
  let reads = 0;
  jobsOfQueues.forEach((list, index) => {
    const key = queueKey({ ...plainFacts, type: `t${index}` });
    const counts = { pending: list.length, active: 0, jobs: list.length };
    jobs.set(book.enter({ id: index + 1, key, ...counts }), [...list]);
  });
  const readPage = (queue: Queue, limit: number): Candidate[] => {
    reads++;
    return jobs
      .get(queue)!
      .toSorted((a, b) => (isBetter(a, b) ? -1 : 1))
      .slice(0, limit);
  };
  return {
    book,
    jobs,
    reads: () => reads,
    claim(wanted: number): number[] {
      const candidates = new Candidates(book, [...jobs.keys()], { wanted, readPage });
      const taken: number[] = [];
      for (let next = candidates.peek(); next !== null && taken.length < wanted; next = candidates.peek()) {
        taken.push(next.seq);
        candidates.take();
        for (const [queue, list] of jobs) {
          jobs.set(
            queue,
            list.filter(({ seq }) => seq !== taken.at(-1)),
          );
        }
      }
      return taken;
    },
  };
}

const job = (seq: number, priority = 5): Candidate => ({ seq, priority });

describe("candidates", () => {
  it("come by priority, then by age, from all queues", () => {
    const { claim } = stage([[job(1), job(6, 9)], [], [job(2), job(3), job(5, 7)], [job(4)]]);
    expect(claim(3)).toEqual([6, 5, 1]);
    expect(claim(9)).toEqual([2, 3, 4]);
    expect(claim(9)).toEqual([]);
  });

  it("A12: a claim among many queues reads only the queue that the last one took from", () => {
    const { claim, reads } = stage(Array.from({ length: 5_000 }, (_, index) => [job(index + 1)]));
    expect(claim(1)).toEqual([1]);
    const before = reads();
    for (let turn = 2; turn < 50; turn++) expect(claim(1)).toEqual([turn]);
    expect(reads() - before).toBeLessThan(100);
  });

  it("notice a job that arrives, that leaves, and what a rollback takes back", () => {
    const { book, jobs, claim } = stage([[job(5)], [job(7)]]);
    const [first, second] = [...jobs.keys()] as [Queue, Queue];
    expect(claim(1)).toEqual([5]);
    expect(claim(0)).toEqual([]);
    jobs.set(first, [job(9, 8)]);
    book.nowReady(first, job(9, 8));
    expect(claim(1)).toEqual([9]);
    jobs.set(second, []);
    book.notReady(second, 7);
    expect(claim(1)).toEqual([]);
    const mark = book.mark();
    jobs.set(first, [job(11)]);
    book.nowReady(first, job(11));
    jobs.set(first, []);
    book.backTo(mark);
    expect(claim(1)).toEqual([]);
  });
});
