import type { NewToken } from "../../src/store/access-store.ts";
import { origin, type Scene } from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";

const token: NewToken = {
  id: "t1",
  secretHash: "hash-1",
  role: "user",
  tenantId: "acme",
  userId: "u1",
  workerId: null,
  createdAt: 1,
  expiresAt: null,
};
const session = { secretHash: "s1", tokenId: "t1", expiresAt: 99, nowMs: 2, origin };

const madeTwice = "its id is taken: the caller makes another one";

async function withToken(scene: Scene, act: Act): Promise<Act> {
  await scene.store.createToken({ token, origin });
  return act;
}

async function withSession(scene: Scene, act: Act): Promise<Act> {
  await withToken(scene, act);
  await scene.store.createSession(session);
  await scene.store.createLoginCode({ codeHash: "c1", tokenId: "t1", expiresAt: 99, nowMs: 2 });
  return act;
}

/** Tokens, sessions, and the response to security events. */
export const accessScenes = {
  createToken: {
    differsAgain: madeTwice,
    prepare: async () => (store) => store.createToken({ token, origin }),
  },
  findToken: { prepare: (scene) => withToken(scene, (store) => store.findToken({ secretHash: "hash-1" })) },
  listTokens: { prepare: (scene) => withToken(scene, (store) => store.listTokens()) },
  revokeToken: {
    prepare: (scene) => withSession(scene, (store) => store.revokeToken({ tokenId: "t1", nowMs: 3, origin })),
  },
  refreshToken: {
    differsAgain: "the old token is no longer valid, and the new one is: the caller tries that one",
    prepare: (scene) =>
      withToken(scene, (store) => {
        const next = { ...token, id: "t2", secretHash: "hash-2" };
        return store.refreshToken({ tokenId: "t1", token: next, nowMs: 3, origin });
      }),
  },
  createSession: {
    differsAgain: madeTwice,
    prepare: (scene) =>
      withSession(scene, (store) =>
        store.createSession({ ...session, secretHash: "s2", endedHash: "s1", nowMs: 3 }),
      ),
  },
  findSession: {
    prepare: (scene) => withSession(scene, (store) => store.findSession({ secretHash: "s1" })),
  },
  removeSession: {
    differsAgain: "it is told that there is no such session any more",
    prepare: (scene) => withSession(scene, (store) => store.removeSession({ secretHash: "s1" })),
  },
  createLoginCode: {
    differsAgain: madeTwice,
    prepare: (scene) =>
      withSession(scene, (store) =>
        store.createLoginCode({ codeHash: "c2", tokenId: "t1", expiresAt: 199, nowMs: 100 }),
      ),
  },
  takeLoginCode: {
    differsAgain: "a code is good for one caller: the user asks for another one",
    prepare: (scene) => withSession(scene, (store) => store.takeLoginCode({ codeHash: "c1", nowMs: 3 })),
  },

  lockDown: {
    differsAgain: "it is told that the hub was locked already",
    async prepare(scene) {
      await scene.register();
      await scene.submitAndStart();
      return (store) => store.lockDown({ reason: "a drill", userId: "u1", nowMs: scene.nowMs, origin });
    },
  },
  getLockdown: { prepare: (scene) => locked(scene, (store) => store.getLockdown()) },
  liftLockdown: {
    differsAgain: "it is told that the hub was not locked",
    prepare: (scene) => locked(scene, (store) => store.liftLockdown({ nowMs: scene.nowMs, origin })),
  },
  lockTenant: {
    differsAgain: "it is told that the tenant was locked already",
    async prepare(scene) {
      await scene.submit();
      const why = { reason: "a storm", userId: null, nowMs: scene.nowMs, origin };
      return (store) => store.lockTenant({ tenantId: "acme", ...why });
    },
  },
  listLockedTenants: { prepare: (scene) => locked(scene, (store) => store.listLockedTenants()) },
  liftTenant: {
    differsAgain: "it is told that the tenant was not locked",
    prepare: (scene) =>
      locked(scene, (store) => store.liftTenant({ tenantId: "acme", nowMs: scene.nowMs, origin })),
  },
  getLogReader: { prepare: (scene) => read(scene, (store) => store.getLogReader({ name: "alerts" })) },
  advanceLogReader: {
    differsAgain: "the hub reads the position again before it repeats this",
    prepare: async (scene) => (store) => store.advanceLogReader(advance(scene, "m2")),
  },
  nextMessage: { prepare: (scene) => read(scene, (store) => store.nextMessage({ channel: "mail" })) },
  finishMessage: {
    differsAgain: "the try is counted once more",
    async prepare(scene) {
      await scene.store.advanceLogReader(advance(scene, "m1"));
      const { id } = (await scene.store.nextMessage({ channel: "mail" }))!;
      return (store) => store.finishMessage({ id, retryAt: scene.nowMs + 5 });
    },
  },
  listWatched: { prepare: (scene) => read(scene, (store) => store.listWatched({ nowMs: scene.nowMs })) },
} satisfies Record<string, ActScene>;

export const accessVariants = {
  "finishMessage for good": {
    async prepare(scene) {
      await scene.store.advanceLogReader(advance(scene, "m1"));
      const { id } = (await scene.store.nextMessage({ channel: "mail" }))!;
      return (store) => store.finishMessage({ id, retryAt: null });
    },
  },
} satisfies Record<string, ActScene>;

async function locked(scene: Scene, act: Act): Promise<Act> {
  const why = { reason: "a drill", userId: null, nowMs: scene.nowMs, origin };
  await scene.submit();
  await scene.store.lockTenant({ tenantId: "acme", ...why });
  await scene.store.lockDown(why);
  return act;
}

function advance(scene: Scene, subject: string) {
  return {
    name: "alerts",
    seq: 0,
    memory: "{}",
    messages: [{ channel: "mail", subject, body: "b", data: "{}" }],
    waitingMax: 5,
    watch: [{ subject: "u1", until: scene.nowMs - 1 }],
    nowMs: scene.nowMs,
  };
}

async function read(scene: Scene, act: Act): Promise<Act> {
  await scene.store.advanceLogReader(advance(scene, "m1"));
  return act;
}
