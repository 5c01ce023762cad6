import { afterEach, beforeEach } from "vitest";
import { Scene } from "./scene.ts";
import type { StoreUnderTest } from "./under-test.ts";

/** A fresh scene for each test of the describe block that calls this. */
export function useScene(create: () => StoreUnderTest): () => Scene {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open(create());
  });
  afterEach(() => scene.end());
  return () => scene;
}
