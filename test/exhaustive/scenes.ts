import type { ActName } from "../../src/store/act-names.ts";
import { accessScenes, accessVariants } from "./access-scenes.ts";
import type { ActScene } from "./act-scene.ts";
import { fileScenes, fileVariants } from "./file-scenes.ts";
import { jobScenes, jobVariants } from "./job-scenes.ts";
import { logScenes } from "./log-scenes.ts";
import { orderScenes } from "./order-scenes.ts";
import { workerScenes, workerVariants } from "./worker-scenes.ts";

/** One scene for each act of the store. The type checker asks for those that are missing. */
export const actScenes: Record<ActName, ActScene> = {
  ...jobScenes,
  ...workerScenes,
  ...accessScenes,
  ...fileScenes,
  ...logScenes,
  ...orderScenes,
};

/** Other forms of an act, named by the act and what is special. */
const variants: Record<string, ActScene> = {
  ...jobVariants,
  ...workerVariants,
  ...accessVariants,
  ...fileVariants,
};

export type NamedScene = ActScene & { name: string; act: ActName };

export const scenes: NamedScene[] = Object.entries({ ...actScenes, ...variants }).map(([name, scene]) => ({
  ...scene,
  name,
  act: name.split(" ")[0] as ActName,
}));
