import type { Store } from "../../src/store/store.ts";
import type { Scene } from "../store-contract/scene.ts";

export type Act = (store: Store) => Promise<unknown>;

export type ActScene = {
  /** Makes the state before the act. `ready` is what the store has to do first because only its memory knows of it. */
  prepare(scene: Scene): Promise<Act | { ready: Act; act: Act }>;
  /**
   * What is different for a caller that was not told the outcome and asks again. A test demands it of acts whose repetition
   * fails, or stands in the log a second time.
   */
  differsAgain?: string;
};
