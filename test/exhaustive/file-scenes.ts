import type { NewUpload } from "../../src/store/object-store.ts";
import { origin, type Scene, sha256 } from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";
import { endJob } from "./job-scenes.ts";

const key = { tenantId: "acme", folderId: "f", objectKey: "a/b" };
const hourMs = 3_600_000;

function upload(scene: Scene, parts: Partial<NewUpload> = {}): NewUpload {
  const plain = { id: scene.newId(), ...key, userId: "u1", jobId: null, attempt: null };
  return { ...plain, size: 10, sha256: sha256("file"), ...parts };
}

async function announce(scene: Scene, act: (id: string) => Act): Promise<Act> {
  const one = upload(scene);
  const { nowMs } = scene;
  await scene.store.openUploads({ uploads: [one], nowMs, expiresAt: nowMs + hourMs });
  return act(one.id);
}

function arrived(scene: Scene, id: string) {
  const { nowMs } = scene;
  return { id, size: 10, sha256: sha256("file"), storedAs: "one", nowMs, keptUntil: nowMs + 10 * hourMs };
}

async function store(scene: Scene, act: (id: string) => Act): Promise<Act> {
  let stored = "";
  const next = await announce(scene, (id) => {
    stored = id;
    return act(id);
  });
  await scene.store.arriveObject(arrived(scene, stored));
  return next;
}

/** A job that has ended, and how much it wrote. */
async function written(scene: Scene, act: (jobId: string) => Act): Promise<Act> {
  const jobId = await endJob(scene);
  await scene.store.noteOutputs({ outputs: [{ jobId, attempt: 1, stdout: 100, stderr: 5 }] });
  return act(jobId);
}

/** Files of users and jobs, and the output of jobs. */
export const fileScenes = {
  openUploads: {
    async prepare(scene) {
      const { nowMs } = scene;
      const quota = { max_artifact_bytes: 100 };
      await scene.store.putQuota({ tenantId: "acme", quota, nowMs, origin: null });
      const uploads = [upload(scene), upload(scene, { objectKey: "c", size: null, sha256: null })];
      return (store) => store.openUploads({ uploads, nowMs, expiresAt: nowMs + hourMs });
    },
    differsAgain: "an upload without a hash cannot be continued, so it is announced anew",
  },
  reserveUpload: {
    prepare: (scene) =>
      announce(scene, (id) => (store) => {
        const { nowMs } = scene;
        return store.reserveUpload({ id, size: 20, nowMs, expiresAt: nowMs + 2 * hourMs });
      }),
  },
  noteStoreUpload: {
    prepare: (scene) =>
      announce(scene, (id) => (store) => store.noteStoreUpload({ id, was: null, storeUpload: "s1" })),
  },
  arriveObject: {
    prepare: (scene) => announce(scene, (id) => (store) => store.arriveObject(arrived(scene, id))),
  },
  getObject: {
    prepare: (scene) => store(scene, (id) => (store) => store.getObject({ id, nowMs: scene.nowMs })),
  },
  findObject: {
    prepare: (scene) =>
      store(scene, () => (store) => store.findObject({ ...key, userId: "u1", nowMs: scene.nowMs })),
  },
  listUploads: {
    prepare: (scene) =>
      announce(scene, () => (store) => store.listUploads({ ...key, userId: "u1", nowMs: scene.nowMs })),
  },
  listJobObjects: {
    async prepare(scene) {
      const claimed = await scene.submitAndStart();
      const { nowMs } = scene;
      const uploads = [upload(scene, { jobId: claimed.job.id, attempt: 1 })];
      await scene.store.openUploads({ uploads, nowMs, expiresAt: nowMs + hourMs });
      return (store) => store.listJobObjects({ jobId: claimed.job.id, nowMs });
    },
  },
  dropObjects: {
    differsAgain: "what was dropped is not counted twice",
    prepare: (scene) =>
      store(scene, () => (store) => store.dropObjects({ ...key, userId: null, nowMs: scene.nowMs })),
  },
  dropObject: {
    prepare: (scene) => store(scene, (id) => (store) => store.dropObject({ id, nowMs: scene.nowMs })),
  },
  listExpired: {
    prepare: (scene) =>
      announce(scene, () => (store) => {
        const nowMs = scene.nowMs + 2 * hourMs;
        return store.listExpired({ nowMs, holdUntil: nowMs + hourMs, limit: 10 });
      }),
  },
  forgetObjects: {
    async prepare(scene) {
      const act = await announce(scene, (id) => (store) => store.forgetObjects({ ids: [id] }));
      const nowMs = scene.nowMs + 2 * hourMs;
      await scene.store.listExpired({ nowMs, holdUntil: nowMs + hourMs, limit: 10 });
      return act;
    },
  },
  listObjectUsage: { prepare: (scene) => store(scene, () => (store) => store.listObjectUsage()) },

  noteOutputs: {
    prepare: (scene) =>
      written(
        scene,
        (jobId) => (store) => store.noteOutputs({ outputs: [{ jobId, attempt: 1, stdout: 200 }] }),
      ),
  },
  getOutputNotes: {
    prepare: (scene) => written(scene, (jobId) => (store) => store.getOutputNotes({ jobIds: [jobId] })),
  },
  getSmallOutput: {
    prepare: (scene) => written(scene, (jobId) => (store) => store.getSmallOutput({ jobId, attempt: 1 })),
  },
  dropOutputs: {
    differsAgain: "what was dropped is not named twice; the hub finds unneeded outputs by itself",
    prepare: (scene) =>
      written(scene, () => (store) => store.dropOutputs({ downToBytes: 0, limit: 10, nowMs: scene.nowMs })),
  },
} satisfies Record<string, ActScene>;

export const fileVariants = {
  "arriveObject in place of an earlier file": {
    async prepare(scene) {
      await store(scene, () => async () => {});
      const next = upload(scene, { sha256: sha256("other"), size: 5 });
      const { nowMs } = scene;
      await scene.store.openUploads({ uploads: [next], nowMs, expiresAt: nowMs + hourMs });
      const input = { ...arrived(scene, next.id), size: 5, sha256: sha256("other"), storedAs: "two" };
      return (store) => store.arriveObject(input);
    },
  },
  "putQuota for files": {
    differsAgain: "that it was set stands in the log twice",
    prepare: (scene) =>
      store(scene, () => (store) => {
        const quota = { max_artifact_bytes: 5 };
        return store.putQuota({ tenantId: "acme", quota, nowMs: scene.nowMs, origin });
      }),
  },
} satisfies Record<string, ActScene>;
