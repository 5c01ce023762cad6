import { expect, test } from "vitest";
import { type ActName, actNames } from "../../src/store/act-names.ts";
import { Scene } from "../store-contract/scene.ts";
import { sqliteUnderTest } from "../store-contract/sqlite-under-test.ts";
import { watchCalls } from "../store-contract/watch-calls.ts";
import { type NamedScene, scenes } from "./scenes.ts";

test("every act of the store has a scene", () => {
  const missing = actNames.filter((name) => !scenes.some(({ act }) => act === name));
  expect(missing).toEqual([]);
});

test.each(scenes.map((scene) => [scene.name, scene] as const))(
  "the scene of %s calls that act only, and says if it cannot be repeated",
  async (_, { act, prepare, differsAgain }: NamedScene) => {
    const called: string[] = [];
    const scene = await Scene.open(watchCalls(sqliteUnderTest(), (name) => called.push(name)));
    try {
      const prepared = await prepare(scene);
      if (typeof prepared !== "function") await prepared.ready(scene.store);
      called.length = 0;
      const call = typeof prepared === "function" ? prepared : prepared.act;
      await call(scene.store);
      expect(called).toEqual([act satisfies ActName]);
      if (differsAgain !== undefined) return;
      const before = await scene.store.eventRange();
      await call(scene.store);
      expect(await scene.store.eventRange()).toEqual(before);
    } finally {
      await scene.end();
    }
  },
);
