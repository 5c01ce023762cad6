import { type ContestFigure, contest, type FigureResult } from "../_contest.ts";
import type { BenchOptions, StoreName } from "../_options.ts";
import { conclude } from "../_results.ts";
import { withRivals } from "./arena.ts";
import { comparePosts } from "./posts.ts";
import type { RivalName } from "./rivals.ts";

const jobsDefault = 10_000;
/** On PostgreSQL, Writ stands beside those that use the same server. */
const namesOf: Record<StoreName, RivalName[]> = {
  sqlite: ["writ", "bullmq", "bullmq-always", "pg-boss", "graphile", "graphile-batched"],
  // Both forms of the SQLite file, in turns.
  postgres: ["writ-postgres", "pg-boss", "graphile", "graphile-batched"],
};
const posts = "single POSTs by wrk, 64 connections";

/** Enqueue one by one and in bulk, and drain: Writ beside the queues that a user would pick instead. */
export async function compareQueues(options: BenchOptions): Promise<void> {
  const names = namesOf[options.store];
  const chosen = choose(figuresOf(names, options.jobs ?? jobsDefault), options.figures);
  const rivals = names.filter((name) => isChosen(name, options.rivals));
  const results: FigureResult[] = [];
  if (chosen.length > 0)
    results.push(
      ...(await withRivals(rivals, (contestants) => contest(chosen, contestants, options.rounds))),
    );
  if (isChosen("posts", options.figures)) results.push(await comparePosts(posts, options));
  conclude("queue", results, options);
}

function figuresOf(names: readonly RivalName[], jobs: number): (ContestFigure & { id: string })[] {
  const slow = { graphile: 0.3 };
  const drained = names.filter((name) => name !== "bullmq-always");
  return [
    {
      id: "enqueue",
      name: "enqueue one by one, 16 producers",
      act: "enqueue",
      rivals: names.filter((name) => name !== "graphile-batched"),
      options: { concurrency: 16, seconds: 2 },
    },
    {
      id: "bulk",
      name: "enqueue in bulk, 1,000 a call",
      act: "bulk",
      rivals: drained,
      options: { jobs },
      shareOf: slow,
    },
    {
      id: "drain",
      name: "drain, concurrency 50",
      act: "drain",
      rivals: drained,
      options: { jobs, concurrency: 50 },
      shareOf: slow,
    },
  ];
}

/** A drain needs the jobs that a bulk left, so one of them never goes without the other. */
function choose(figures: (ContestFigure & { id: string })[], ids: readonly string[]): ContestFigure[] {
  const isPair = isChosen("bulk", ids) || isChosen("drain", ids);
  return figures
    .filter(({ id }) => isChosen(id, ids) || (id !== "enqueue" && isPair))
    .map((figure) => ({ ...figure, isHidden: !isChosen(figure.id, ids) }));
}

export function isChosen(name: string, chosen: readonly string[]): boolean {
  return chosen.length === 0 || chosen.includes(name);
}
