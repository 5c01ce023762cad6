import { type ContestFigure, contest } from "./_contest.ts";
import { readOptions } from "./_options.ts";
import { conclude } from "./_results.ts";
import { withRivals } from "./peers/arena.ts";
import { isChosen } from "./peers/queue.ts";
import type { RivalName } from "./peers/rivals.ts";

/**
 * How long an idle worker takes to start a job: from the call that submits it to the first line of its handler.
 * Why: ADR 0058, ADR 0063.
 * Usage: npm run bench -- latency [--peers] [--rounds N] [--jobs N] [--rivals writ,bullmq,...] [--json] [--save]
 */
const jobsDefault = 200;

const options = readOptions();
const peers: RivalName[] = options.peers ? ["bullmq", "pg-boss", "graphile"] : [];
const rivals = (["writ", ...peers] as RivalName[]).filter((name) => isChosen(name, options.rivals));
const figure: ContestFigure = {
  name: "idle pick-up",
  act: "pickUp",
  rivals,
  options: { jobs: options.jobs ?? jobsDefault },
};
const results = await withRivals(rivals, (contestants) => contest([figure], contestants, options.rounds));
conclude("latency", results, options);
