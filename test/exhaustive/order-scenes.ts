import type { StandingOrder } from "../../src/store/order-store.ts";
import { origin, type Scene } from "../store-contract/scene.ts";
import type { Act, ActScene } from "./act-scene.ts";

const order: StandingOrder = {
  kind: "schedule",
  tenantId: "acme",
  name: "nightly",
  id: "o1",
  userId: "u1",
  revision: 1,
  nextAt: 100,
  cursor: 50,
  state: "{}",
  seal: "s",
};
const event = {
  event: "SCHEDULE_CHANGED",
  ts: 1,
  tenantId: "acme",
  jobId: null,
  ownerId: "u1",
  details: {},
  origin,
} as const;

async function withOrder(scene: Scene, act: Act): Promise<Act> {
  await scene.store.putOrder({ order, revisionBefore: null, events: [event], most: 9 });
  return act;
}

async function withLane(scene: Scene, act: Act): Promise<Act> {
  await scene.submitAndStart({ terms: '{"lanes":[{"max_running":1,"name":"one"}]}' });
  return act;
}

/** Schedules, webhooks and hooks, and what is told about lanes. */
export const orderScenes = {
  putOrder: {
    differsAgain: "it has another revision now: the caller reads it, and finds what it wanted",
    prepare: (scene) =>
      withOrder(scene, (store) =>
        store.putOrder({ order: { ...order, revision: 2 }, revisionBefore: 1, events: [event], most: 9 }),
      ),
  },
  removeOrder: {
    differsAgain: "it is told that there is no such order any more",
    prepare: (scene) =>
      withOrder(scene, (store) => store.removeOrder({ ...order, revision: 1, events: [event] })),
  },
  fireOrders: {
    differsAgain: "the order has moved, and its job is made once",
    prepare: async (scene) => {
      const job = scene.newJob();
      const firing = {
        order: { ...order, revision: 2, cursor: 100 },
        revisionBefore: 1,
        events: [event],
        occurrences: [{ occurrence: "one", at: 100, outcome: "fired" as const, job }],
        endedJobId: null,
        maxPending: null,
        nowMs: 100,
        origin: null,
      };
      return withOrder(scene, (store) => store.fireOrders({ firings: [firing] }));
    },
  },
  getOrder: { prepare: (scene) => withOrder(scene, (store) => store.getOrder(order)) },
  listOrders: {
    prepare: (scene) =>
      withOrder(scene, (store) =>
        store.listOrders({ kind: "schedule", tenantId: null, userId: null, after: null, limit: 9 }),
      ),
  },
  listDueOrders: {
    prepare: (scene) =>
      withOrder(scene, (store) => store.listDueOrders({ kind: "schedule", nowMs: 200, limit: 9 })),
  },
  listOrdersAhead: {
    prepare: (scene) =>
      withOrder(scene, (store) =>
        store.listOrdersAhead({ kind: "schedule", afterMs: 0, afterId: "", limit: 9 }),
      ),
  },
  listOccurrences: {
    prepare: (scene) => withOrder(scene, (store) => store.listOccurrences({ orderId: "o1", limit: 9 })),
  },
  listLanes: {
    prepare: (scene) =>
      withLane(scene, (store) => store.listLanes({ tenantId: null, after: null, limit: 9 })),
  },
  getLanes: {
    prepare: (scene) => withLane(scene, (store) => store.getLanes({ tenantId: "acme", names: ["one"] })),
  },
} satisfies Record<string, ActScene>;
