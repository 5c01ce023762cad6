import { describe, expect, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { memoryHubForAll, tokensOf } from "../support/use-hub.ts";

const hub = memoryHubForAll(stillEnv);
const tokens = tokensOf(hub);

const inContainer = { kind: "exec_per_job", worker_command: ["resize"], container: "image-worker" };
const ableToContain = { kinds: ["exec_per_job"], containers: ["image-worker"], document_format: 2 };

async function claimed(workerId: string, type: string, more: object = {}): Promise<string | null> {
  const body = { worker_id: workerId, types: [type], ...more };
  const answer = await hub.must("POST", "/jobs/claim", { token: tokens.worker, body });
  return answer.status === 204 ? null : answer.json<{ id: string }>().id;
}

/** What keeps this worker from this job. */
async function whyNot(workerId: string, jobId: string): Promise<string[]> {
  const why = (await hub.must("GET", `/jobs/${jobId}/why`, { token: hub.admin })).json<WhyView>();
  return why.workers.find(({ worker_id }) => worker_id === workerId)!.why;
}

describe("a worker is given no job", () => {
  type Fields = Record<string, unknown>;
  const cases: [string, Fields, Fields, Fields, string][] = [
    [
      "of a kind that it did not name",
      { run: { kind: "solver", url: "https://x/y", checksum: "a".repeat(64) } },
      { kinds: ["exec"] },
      { kinds: ["exec", "solver"] },
      "does not run solver jobs",
    ],
    [
      "that needs a process while it cannot cage one (A19)",
      {},
      { kinds: [], sandbox_problem: "SANDBOX_UNAVAILABLE: user: there is no launcher" },
      { kinds: ["exec"] },
      "does not run exec jobs at present: SANDBOX_UNAVAILABLE: user: there is no launcher",
    ],
    [
      "of a session that it does not have",
      { requires: { session: "tmux:one" } },
      { sessions: ["tmux:two"] },
      { sessions: ["tmux:two", "tmux:one"] },
      "has no session tmux:one",
    ],
    [
      "for a container that it does not have",
      { run: inContainer },
      { ...ableToContain, containers: ["other"] },
      ableToContain,
      "has no container image-worker",
    ],
    [
      "of a format that it does not read",
      { run: inContainer },
      { ...ableToContain, document_format: 1 },
      ableToContain,
      "reads documents up to format 1, and this one has 2",
    ],
    [
      "that it would not stop when it should",
      { on_disconnect: "stop" },
      {},
      { document_format: 2 },
      "reads documents up to format 1, and this one has 2",
    ],
  ];

  test.each(cases)("%s, and `why` says so", async (_, job, lacking, able, reason) => {
    const { id, type } = await submitJob(hub, job);
    const unfit = await registerWorker(hub, lacking);
    expect(await claimed(unfit, type)).toBeNull();
    expect(await whyNot(unfit, id)).toEqual([reason]);
    const fit = await registerWorker(hub, able);
    expect(await whyNot(fit, id)).toEqual([]);
    expect(await claimed(fit, type)).toBe(id);
  });
});

describe("a worker of version 0.1", () => {
  test("names neither kinds nor format, and is given what it can run", async () => {
    const old = await registerWorker(hub);
    for (const kind of ["exec", "handler"]) {
      const run = kind === "exec" ? { kind, argv: ["true"] } : { kind };
      const { id, type } = await submitJob(hub, { run });
      expect(await claimed(old, type)).toBe(id);
    }
    const { id, type } = await submitJob(hub, { run: inContainer });
    expect(await claimed(old, type)).toBeNull();
    expect(await whyNot(old, id)).toEqual([
      "does not run exec_per_job jobs",
      "has no container image-worker",
      "reads documents up to format 1, and this one has 2",
    ]);
  });

  test("names one session, and has it", async () => {
    const old = await registerWorker(hub, { session: "tmux:one" });
    const { id, type } = await submitJob(hub, { requires: { session: "tmux:one" } });
    expect(await claimed(old, type, { session: "tmux:two" })).toBeNull();
    expect(await claimed(old, type)).toBe(id);
  });
});

test("a worker is shown with what it can do", async () => {
  const view = async (id: string) =>
    (await hub.must("GET", `/workers/${id}`, { token: tokens.viewer })).json<WorkerView>();
  const facts = {
    kinds: ["exec", "a_kind_of_the_future"],
    sessions: ["a", "b"],
    containers: ["c"],
    document_format: 7,
  };
  expect(await view(await registerWorker(hub, facts))).toMatchObject(facts);
  expect(await view(await registerWorker(hub, { session: "a" }))).toMatchObject({
    kinds: ["exec", "handler"],
    sessions: ["a"],
    containers: [],
    document_format: 1,
  });
});

test("a job in a container shows its container, and its name must be one", async () => {
  const { id } = await submitJob(hub, { run: inContainer });
  const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ run: object }>();
  expect(job.run).toEqual(inContainer);
  for (const container of ["", "a b", "x".repeat(101), 1]) {
    const body = { type: freshName("type"), run: { ...inContainer, container } };
    expect((await hub.call("POST", "/jobs", { token: hub.admin, body })).status, String(container)).toBe(400);
  }
  const body = { type: freshName("type"), run: { kind: "exec", argv: ["true"], container: "c" } };
  expect((await hub.call("POST", "/jobs", { token: hub.admin, body })).status).toBe(400);
});
