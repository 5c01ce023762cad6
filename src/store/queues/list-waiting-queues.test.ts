import { expect, it } from "vitest";
import { plainFacts } from "../../core/jobs/queue-key.testing.ts";
import { queueKey } from "../../core/jobs/queue-key.ts";
import { listWaitingQueues } from "./list-waiting-queues.ts";
import { QueueBook } from "./queue-book.ts";

it("O-28 lists the 500 queues with the most waiting jobs; scheduled ones make no queue longer", () => {
  const queues = Array.from({ length: 502 }, (_, id) => ({
    id,
    key: queueKey({ ...plainFacts, type: `type-${id}` }),
    pending: id + 1,
    active: 0,
    jobs: id + 1,
  }));
  const book = new QueueBook({ queues, turns: [], pausedTypes: ["type-500"], quotas: [] });
  // Of the longest queue, all jobs except one are scheduled.
  const listed = listWaitingQueues(book, ({ id, pending }) => (id === 501 ? pending - 1 : 0));
  expect(listed).toHaveLength(500);
  expect(listed[0]).toMatchObject({ facts: { type: "type-499" }, waiting: 500 });
  expect(listed.at(-1)).toMatchObject({ waiting: 1 });
});
