import { type ContestFigure, contest } from "../_contest.ts";
import type { BenchOptions } from "../_options.ts";
import { conclude } from "../_results.ts";
import { withRivals } from "./arena.ts";
import { isChosen } from "./queue.ts";
import type { RivalName } from "./rivals.ts";

const jobsDefault = 600;
const inFlight = 32;
const names: RivalName[] = ["writ-exec", "bullmq-spawn", "bullmq-bubblewrap"];

/** Process jobs end to end, with output: Writ's, which are caged, beside what one would build around BullMQ. */
export async function compareProcesses(options: BenchOptions): Promise<void> {
  const rivals = names.filter((name) => isChosen(name, options.rivals));
  const figure: ContestFigure = {
    name: `process jobs with output, ${inFlight} in flight`,
    act: "processes",
    rivals,
    options: { jobs: options.jobs ?? jobsDefault, concurrency: inFlight },
  };
  const results = await withRivals(rivals, (contestants) => contest([figure], contestants, options.rounds));
  conclude("exec", results, options);
}
