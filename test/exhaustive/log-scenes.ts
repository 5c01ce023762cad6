import { Period } from "../../src/core/statistics/period.ts";
import { origin, type Scene } from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";
import { endJob } from "./job-scenes.ts";

const mark = { audit: "head", seq: 1, hash: "h", ts: 1, key_id: "k", signature: "s" } as const;

function period(): string {
  const made = new Period();
  made.add({ tenantId: "acme", type: "build", kind: "submitted", count: 1 }, 1);
  return made.text();
}

async function logged(scene: Scene, act: Act): Promise<Act> {
  await endJob(scene);
  await scene.store.saveAuditMark({ mark });
  return act;
}

async function queued(scene: Scene, act: Act): Promise<Act> {
  await scene.store.putQuota({ tenantId: "acme", quota: { max_running: 5 }, nowMs: 1, origin });
  await scene.submitAndStart();
  await scene.submit();
  return act;
}

/** Queues and quotas, the event log, the audit trail and statistics. */
export const logScenes = {
  getQuota: { prepare: (scene) => queued(scene, (store) => store.getQuota({ tenantId: "acme" })) },
  putQuota: {
    differsAgain: "that it was set stands in the log twice",
    prepare: (scene) =>
      queued(scene, (store) =>
        store.putQuota({ tenantId: "acme", quota: { max_pending: 9 }, nowMs: scene.nowMs, origin }),
      ),
  },
  listQuotas: { prepare: (scene) => queued(scene, (store) => store.listQuotas()) },
  listQueues: { prepare: (scene) => queued(scene, (store) => store.listQueues()) },
  surveyQueues: { prepare: (scene) => queued(scene, (store) => store.surveyQueues()) },
  listWaitingQueues: { prepare: (scene) => queued(scene, (store) => store.listWaitingQueues()) },
  setQueuePaused: {
    prepare: (scene) =>
      queued(scene, (store) =>
        store.setQueuePaused({ type: "build", paused: true, nowMs: scene.nowMs, origin }),
      ),
  },

  recordEvents: {
    differsAgain: "what is recorded twice stands in the log twice",
    prepare: async (scene) => (store) =>
      store.recordEvents({ events: [eventAt(scene.nowMs), eventAt(scene.nowMs + 1)] }),
  },
  readEvents: {
    prepare: (scene) => logged(scene, (store) => store.readEvents({ afterSeq: 0, limit: 9 })),
  },
  eventRange: { prepare: (scene) => logged(scene, (store) => store.eventRange()) },
  pruneEvents: {
    differsAgain: "what was deleted is not counted twice",
    prepare: (scene) => logged(scene, (store) => store.pruneEvents({ throughSeq: 2, limit: 9 })),
  },
  sealEvents: {
    differsAgain: "what was sealed is not counted twice",
    async prepare(scene) {
      await endJob(scene);
      await scene.under.tamper.removeSeals?.(1);
      return (store) => store.sealEvents({ limit: 2 });
    },
  },
  saveAuditMark: {
    prepare: (scene) =>
      logged(scene, (store) => store.saveAuditMark({ mark: { ...mark, seq: 2, hash: "i" } })),
  },
  findAuditMark: { prepare: (scene) => logged(scene, (store) => store.findAuditMark({ audit: "head" })) },
  readSealed: {
    prepare: (scene) => logged(scene, (store) => store.readSealed({ afterSeq: 0, limit: 9 })),
  },
  searchAudit: {
    prepare: (scene) => logged(scene, (store) => store.searchAudit({ before: 100, window: 100, limit: 9 })),
  },
  countEvents: {
    prepare: (scene) =>
      logged(scene, (store) => store.countEvents({ afterSeq: 0, throughSeq: 9, kinds: ["JOB_CREATED"] })),
  },
  addStatistics: {
    differsAgain: "periods add up, so one that is added twice counts twice",
    prepare: async () => (store) =>
      store.addStatistics({ periods: [{ tenantId: "acme", start: 0, period: period() }], nowMs: 1 }),
  },
  readStatistics: {
    async prepare(scene) {
      const periods = [{ tenantId: "acme", start: 0, period: period() }];
      await scene.store.addStatistics({ periods, nowMs: 1 });
      return (store) => store.readStatistics({ tenantId: "acme", lengthMs: 5_000, from: 0, until: 9_000 });
    },
  },
  skipEvents: {
    prepare: (scene) => logged(scene, (store) => store.skipEvents({ throughSeq: 50, hash: "a".repeat(64) })),
  },
  getDatabase: { prepare: (scene) => logged(scene, (store) => store.getDatabase()) },
  ping: { prepare: (scene) => logged(scene, (store) => store.ping()) },
} satisfies Record<string, ActScene>;

export function eventAt(ts: number) {
  return {
    ts,
    event: "LOGIN_FAILED",
    tenantId: null,
    jobId: null,
    ownerId: null,
    details: {},
    origin,
  } as const;
}
