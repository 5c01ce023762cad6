import { describe, expect, it } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { noPostgres } from "../support/postgres-cluster.ts";
import { describeLaneModel } from "./describe-lanes.ts";
import { postgresUnderTest } from "./postgres-under-test.ts";
import { fenceOf, resultOf, Scene } from "./scene.ts";

const limits: Record<string, number> = { a: 1, b: 2 };
const termsOf = (names: string[]) =>
  JSON.stringify({ lanes: names.map((name) => ({ name, max_running: limits[name] })) });

if (noPostgres === undefined) {
  describeLaneModel("PostgreSQL", () => postgresUnderTest(), 10);
  describe("lanes of three stores on one database", () => {
    it("hazard 10: are never exceeded, and everything in them is run", { timeout: 120_000 }, async () => {
      const scene = await Scene.open(postgresUnderTest());
      try {
        const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
        for (let index = 0; index < 60; index++)
          await scene.submit({
            terms: termsOf([["a"], ["b"], ["a", "b"]][index % 3]!),
            type: `t${index % 2}`,
          });
        const done = await Promise.all(stores.map((store) => drain(scene, store)));
        expect(done.reduce((sum, count) => sum + count)).toBe(60);
        expect(await scene.store.getLanes({ tenantId: "acme", names: ["a", "b"] })).toEqual([]);
      } finally {
        await scene.end();
      }
    });
  });
} else describe.skip(`lanes on PostgreSQL: ${noPostgres}`, () => it("runs the model", () => {}));

/** Works until nothing waits any more; returns how many jobs it has run. */
async function drain(scene: Scene, store: Store): Promise<number> {
  let done = 0;
  for (let rounds = 0; rounds < 2_000; rounds++) {
    const { claimed } = await store.claimJobs({ ...scene.claimInput(2), rules: scene.rules });
    for (const lane of await store.getLanes({ tenantId: "acme", names: ["a", "b"] }))
      expect(lane.active).toBeLessThanOrEqual(limits[lane.name]!);
    for (const each of claimed) {
      const change = { ...resultOf("1"), fence: fenceOf(each) };
      const changes = [{ jobId: each.job.id, change }];
      const [answer] = await store.changeJobs({ changes, rules: scene.rules, origin: null });
      expect(answer!.kind).toBe("moved");
      done++;
    }
    if (claimed.length === 0 && (await store.ping()).jobs.pending === 0) return done;
  }
  throw new Error("jobs wait although nothing holds them");
}
