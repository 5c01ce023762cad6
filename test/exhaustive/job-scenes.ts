import type { JobChange } from "../../src/store/store.ts";
import {
  failureOf,
  fenceOf,
  leaseMs,
  origin,
  resultOf,
  type Scene,
  sha256,
} from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";

const later = "a lease that was given twice ends by itself, and the job is leased again";

/** A job that has ended, with a receipt and its signature. */
export async function endJob(scene: Scene): Promise<string> {
  const claimed = await scene.submitAndStart();
  await scene.store.changeJobs(endOf(scene, claimed));
  return claimed.job.id;
}

export const signature = {
  id: sha256("receipt"),
  text: "receipt",
  signature: "s",
  workerId: "w1",
  publicKey: null,
  createdAt: 1,
};

function endOf(scene: Scene, claimed: Awaited<ReturnType<Scene["claim"]>>) {
  const change = { ...resultOf("1"), receipt: "r", fence: fenceOf(claimed) } as JobChange["change"];
  const smallOutput = { stdout: Buffer.from("out"), stderr: Buffer.from("err") };
  const changes = [{ jobId: claimed.job.id, change, smallOutput }];
  return { changes, rules: scene.rules, origin, receiptSignature: signature };
}

async function change(scene: Scene, jobId: string, change: object): Promise<Act> {
  const changes = [{ jobId, change: change as JobChange["change"] }];
  return (store) => store.changeJobs({ changes, rules: scene.rules, origin });
}

export const jobScenes = {
  submitJobs: {
    async prepare(scene) {
      const requestHash = sha256("request");
      const jobs = [
        scene.newJob({ requestHash }),
        scene.newJob({ requestHash, type: "other", queueTtlSec: 60 }),
      ];
      return (store) => store.submitJobs({ jobs, maxPending: 10, origin });
    },
  },
  claimJobs: {
    differsAgain: later,
    async prepare(scene) {
      await scene.register();
      await scene.submit();
      await scene.submit({ type: "other" });
      await scene.submit();
      const input = { ...scene.claimInput(2), leaseKeyId: "k1", origin };
      return (store) => store.claimJobs(input);
    },
  },
  changeJobs: {
    async prepare(scene) {
      await scene.register();
      const claimed = await scene.submitAndStart();
      const input = endOf(scene, claimed);
      return (store) => store.changeJobs(input);
    },
  },
  unparkClaim: { prepare: async () => (store) => store.unparkClaim({ claimId: "c1" }) },
  reapJobs: {
    differsAgain: "what was reaped is not counted twice",
    async prepare(scene) {
      await scene.submitAndStart();
      await scene.submit({ queueTtlSec: 1 });
      const rules = { ...scene.rules, nowMs: scene.nowMs + 2 * leaseMs };
      return (store) => store.reapJobs({ rules, limit: 10 });
    },
  },
  recallJobs: {
    differsAgain: "what was recalled is not counted twice",
    async prepare(scene) {
      await scene.submitAndClaim();
      await scene.submitAndStart({ maxAttempts: 1 });
      const input = { leaseKeyId: null, reason: "revoked", rules: scene.rules, limit: 10, origin };
      return (store) => store.recallJobs(input);
    },
  },
  raiseAttempts: {
    differsAgain: "fences only have to rise",
    async prepare(scene) {
      await scene.submit();
      return (store) => store.raiseAttempts({ by: 5 });
    },
  },
  promoteJobs: {
    async prepare(scene) {
      await scene.submit({ runAt: scene.nowMs + 10 });
      await scene.submit({ runAt: scene.nowMs + 99_000 });
      const nowMs = scene.nowMs + 20;
      return (store) => store.promoteJobs({ nowMs, limit: 10 });
    },
  },
  graceLeases: {
    differsAgain: "a lease that lasts long enough is not extended again",
    async prepare(scene) {
      await scene.submitAndStart();
      const nowMs = scene.nowMs + 30_000;
      return (store) => store.graceLeases({ nowMs, leaseMs });
    },
  },
  shiftTimes: {
    differsAgain: "times are moved by a difference; the hub reads its clock again before it repeats this",
    async prepare(scene) {
      await scene.register();
      await scene.submitAndStart();
      await scene.submit({ runAt: scene.nowMs + 10, queueTtlSec: 5 });
      return (store) => store.shiftTimes({ byMs: 1_000 });
    },
  },
  getJob: { prepare: (scene) => ask(scene, (jobId) => (store) => store.getJob({ jobId })) },
  listJobs: { prepare: (scene) => ask(scene, () => (store) => store.listJobs({ limit: 10 })) },
  listJobIds: { prepare: (scene) => ask(scene, () => (store) => store.listJobIds({ limit: 10 })) },
  countJobs: { prepare: (scene) => ask(scene, () => (store) => store.countJobs({})) },
  getQueuePosition: {
    async prepare(scene) {
      await scene.submit();
      const jobId = await scene.submit();
      return (store) => store.getQueuePosition({ jobId });
    },
  },
  pruneJobs: {
    differsAgain:
      "the ids of what was deleted are not returned twice; the hub finds outputs without a job by itself",
    async prepare(scene) {
      await endJob(scene);
      const before = scene.nowMs + 1;
      return (store) =>
        store.pruneJobs({ endedBefore: before, quarantinedBefore: before, limit: 10, nowMs: before });
    },
  },
  getReceiptSignature: {
    prepare: (scene) => ask(scene, () => (store) => store.getReceiptSignature({ id: signature.id })),
  },
  getForgottenJob: {
    prepare: (scene) => forget(scene, (jobId) => (store) => store.getForgottenJob({ jobId })),
  },
  pruneReceipts: {
    differsAgain: "what was deleted is not counted twice",
    prepare: (scene) =>
      forget(scene, () => (store) => store.pruneReceipts({ before: scene.nowMs + 9, limit: 10 })),
  },
  pruneReceiptSignatures: {
    differsAgain: "what was deleted is not counted twice",
    prepare: (scene) =>
      ask(scene, () => (store) => store.pruneReceiptSignatures({ before: scene.nowMs, limit: 10 })),
  },
} satisfies Record<string, ActScene>;

/** Other forms of these acts, which write something else. */
export const jobVariants = {
  "submitJobs that hands a job over": {
    async prepare(scene) {
      await scene.register();
      const claim = { ...scene.claimInput(1), parkAs: "c1" };
      const jobs = [scene.newJob({ requestHash: sha256("request") })];
      return {
        ready: (store) => store.claimJobs(claim),
        act: (store) => store.submitJobs({ jobs, maxPending: null, origin }),
      };
    },
  },
  "changeJobs to start": {
    async prepare(scene) {
      const claimed = await scene.submitAndClaim();
      return change(scene, claimed.job.id, { act: "start", isolation: null, fence: fenceOf(claimed) });
    },
  },
  "changeJobs to fail": {
    async prepare(scene) {
      const claimed = await scene.submitAndStart();
      return change(scene, claimed.job.id, { ...failureOf("TIMEOUT"), fence: fenceOf(claimed) });
    },
  },
  "changeJobs to cancel": {
    async prepare(scene) {
      const claimed = await scene.submitAndStart();
      return change(scene, claimed.job.id, { act: "cancel" });
    },
  },
  "changeJobs with an old fence": {
    async prepare(scene) {
      const claimed = await scene.submitAndStart();
      await scene.change(claimed, resultOf("1"));
      return change(scene, claimed.job.id, { ...resultOf("2"), fence: fenceOf(claimed) });
    },
  },
} satisfies Record<string, ActScene>;

async function ask(scene: Scene, act: (jobId: string) => Act): Promise<Act> {
  return act(await endJob(scene));
}

async function forget(scene: Scene, act: (jobId: string) => Act): Promise<Act> {
  const jobId = await endJob(scene);
  const before = scene.nowMs + 1;
  await scene.store.pruneJobs({ endedBefore: before, quarantinedBefore: before, limit: 10, nowMs: before });
  return act(jobId);
}
