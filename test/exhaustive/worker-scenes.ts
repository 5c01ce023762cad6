import { fenceOf, origin, type Scene } from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";

/** A registered worker that runs a job and holds another one. */
async function working(scene: Scene, act: Act): Promise<Act> {
  await scene.register();
  await scene.submitAndStart();
  await scene.submitAndClaim();
  const kept = { keepSince: 0, keepUntil: 1e15, keepMax: 9 };
  await scene.store.saveWorkerMetrics({ workerId: "w1", ts: 1, metrics: "{}", ...kept });
  return act;
}

export const workerScenes = {
  registerWorker: {
    async prepare(scene) {
      const worker = scene.registration({ name: "one", publicKey: "k" });
      return (store) => store.registerWorker({ worker, nowMs: scene.nowMs, origin });
    },
  },
  heartbeatWorker: {
    async prepare(scene) {
      await scene.register();
      const claimed = await scene.submitAndStart();
      const leases = [
        { jobId: claimed.job.id, fence: fenceOf(claimed), usage: "{}" },
        { jobId: scene.newId(), fence: fenceOf(claimed) },
      ];
      const rules = { ...scene.rules, nowMs: scene.nowMs + 5 };
      return (store) => store.heartbeatWorker({ workerId: "w1", capabilities: null, leases, rules });
    },
  },
  getSpending: {
    prepare: (scene) => working(scene, (store) => store.getSpending({ tenantId: "acme", day: "1970-01-01" })),
  },
  getWorker: { prepare: (scene) => working(scene, (store) => store.getWorker({ workerId: "w1" })) },
  listWorkers: { prepare: (scene) => working(scene, (store) => store.listWorkers()) },
  getWorkerOwner: {
    prepare: (scene) =>
      working(scene, (store) => store.getWorkerOwner({ workerId: "w1", nowMs: scene.nowMs })),
  },
  setWorker: {
    prepare: (scene) =>
      working(scene, (store) =>
        store.setWorker({ workerId: "w1", set: { draining: true }, nowMs: scene.nowMs, origin }),
      ),
  },
  blockWorker: {
    differsAgain: "it is told that the worker was blocked already",
    prepare: (scene) =>
      working(scene, (store) =>
        store.blockWorker({ workerId: "w1", why: { reason: "r", evidence: 1 }, nowMs: scene.nowMs }),
      ),
  },
  refuseClaim: {
    differsAgain: "the pause is known already, and the jobs are no longer the worker's",
    async prepare(scene) {
      await scene.register();
      const claimed = await scene.submitAndClaim();
      const leases = [{ jobId: claimed.job.id, fence: fenceOf(claimed) }];
      const refusal = { detail: "INVALID_SIGNATURE", reason: "it does not verify", evidence: {} } as const;
      return (store) => store.refuseClaim({ workerId: "w1", leases, refusal, rules: scene.rules, origin });
    },
  },
  removeWorker: {
    differsAgain: "it is told that there is no such worker any more",
    prepare: (scene) =>
      working(scene, (store) =>
        store.removeWorker({ workerId: "w1", rules: scene.rules, origin, by: "person" }),
      ),
  },
  retireSilentWorkers: {
    differsAgain: "those that were retired are not named twice; their events are",
    prepare: (scene) =>
      working(scene, (store) =>
        store.retireSilentWorkers({ silentSince: scene.nowMs + 5, nowMs: scene.nowMs + 9 }),
      ),
  },
  noteSignsOfLife: {
    prepare: (scene) =>
      working(scene, (store) =>
        store.noteSignsOfLife({ signs: [{ workerId: "w1", atMs: scene.nowMs + 7 }] }),
      ),
  },
  saveWorkerMetrics: {
    prepare: (scene) =>
      working(scene, (store) =>
        store.saveWorkerMetrics({
          workerId: "w1",
          ts: 5,
          metrics: '{"n":1}',
          keepSince: 2,
          keepUntil: 9,
          keepMax: 3,
        }),
      ),
  },
  listWorkerMetrics: {
    prepare: (scene) => working(scene, (store) => store.listWorkerMetrics({ workerId: "w1" })),
  },
} satisfies Record<string, ActScene>;

export const workerVariants = {
  "registerWorker that is known": {
    prepare: (scene) =>
      working(scene, (store) =>
        store.registerWorker({ worker: scene.registration({ slots: 7 }), nowMs: scene.nowMs + 1, origin }),
      ),
  },
} satisfies Record<string, ActScene>;
