import { median, quantile } from "./_figures.ts";
import type { Contestant } from "./peers/arena.ts";
import type { ActName, ActOptions } from "./peers/rival.ts";
import type { CpuUs, Measured } from "./peers/rival-process.ts";

export type ContestFigure = {
  name: string;
  act: ActName;
  /** The first of them is ours: every ratio is ours divided by another one's. */
  rivals: readonly string[];
  options: Partial<ActOptions>;
  /** Done, because what follows needs it, and not shown. */
  isHidden?: boolean;
  /** A rival that is much slower gets fewer jobs, so that a run stays short. */
  shareOf?: Readonly<Record<string, number>>;
};

export type Entry = { rival: string; value: number; spread: [number, number]; cpu_us?: CpuUs };
/** `cpu` is the ratio of the CPU time that a job takes in client and server together: less is better. */
export type Ratio = { to: string; value: number; spread: [number, number]; cpu?: number };
export type FigureResult = {
  figure: string;
  unit: string;
  rounds: number;
  entries: Entry[];
  ratios: Ratio[];
};

/** Enough for the compilers to have seen the code that counts. */
const warmUpShare = 0.5;
const defaults: ActOptions = { jobs: 1_000, concurrency: 1, seconds: 2 };

/**
 * All figures of all rivals, in turns and several times, so that whatever else the machine does falls on all of them
 * alike. A ratio is taken within each round, and its median over the rounds is the result.
 */
export async function contest(
  figures: readonly ContestFigure[],
  contestants: readonly Contestant[],
  rounds: number,
): Promise<FigureResult[]> {
  const found = new Map<string, Measured[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const figure of figures) {
      for (const contestant of inTurn(contestants, round)) {
        if (!figure.rivals.includes(contestant.name)) continue;
        const measured = await contestant.act(figure.act, optionsOf(figure, contestant.name, round === 0));
        if (figure.act === "enqueue") await contestant.clear();
        if (round === 0 || figure.isHidden) continue;
        const key = keyOf(figure, contestant.name);
        found.set(key, [...(found.get(key) ?? []), measured]);
        tell(`round ${round} of ${rounds}: ${figure.name}, ${contestant.name}: ${summary(measured)}`);
      }
    }
    if (round === 0) tell("warmed up");
  }
  return figures.filter(({ isHidden }) => !isHidden).flatMap((figure) => resultsOf(figure, found, rounds));
}

/** Each round begins with another rival: the first one after a pause has the machine in another state. */
function inTurn(contestants: readonly Contestant[], round: number): Contestant[] {
  const first = round % contestants.length;
  return [...contestants.slice(first), ...contestants.slice(0, first)];
}

function optionsOf(figure: ContestFigure, rival: string, isWarmUp: boolean): ActOptions {
  const options = { ...defaults, ...figure.options };
  const share = (figure.shareOf?.[rival] ?? 1) * (isWarmUp ? warmUpShare : 1);
  const seconds = isWarmUp ? options.seconds * warmUpShare : options.seconds;
  return { ...options, jobs: Math.max(1, Math.round(options.jobs * share)), seconds };
}

function resultsOf(
  figure: ContestFigure,
  found: ReadonlyMap<string, Measured[]>,
  rounds: number,
): FigureResult[] {
  const of = (rival: string) => found.get(keyOf(figure, rival)) ?? [];
  const rivals = figure.rivals.filter((rival) => of(rival).length > 0);
  const result = (name: string, unit: string, pick: (measured: Measured) => number): FigureResult => {
    const values = new Map(rivals.map((rival) => [rival, of(rival).map(pick)]));
    const entries = rivals.map((rival) => entryOf(rival, values.get(rival)!, of(rival)));
    const [ours, ...others] = rivals;
    const ratios = others.map((to) => ({
      ...ratioOf(to, values.get(ours!)!, values.get(to)!),
      ...cpuRatio(of(ours!), of(to)),
    }));
    return { figure: name, unit, rounds, entries, ratios: ours === figure.rivals[0] ? ratios : [] };
  };
  if (figure.act !== "pickUp") return [result(figure.name, "jobs/s", ({ jobs, seconds }) => jobs / seconds)];
  return [0.5, 0.99].map((q) =>
    result(`${figure.name} p${q * 100}`, "ms", ({ timesMs }) => quantile(timesMs!, q)),
  );
}

function entryOf(rival: string, values: number[], measured: readonly Measured[]): Entry {
  const middle = (pick: (cpuUs: CpuUs) => number) =>
    Math.round(median(measured.map(({ cpuUs }) => pick(cpuUs))));
  const names = new Set(measured.flatMap(({ cpuUs }) => Object.keys(cpuUs.threads)));
  const threads = Object.fromEntries(
    [...names].map((name) => [name, middle((cpu) => cpu.threads[name] ?? 0)]),
  );
  const cpu_us = { client: middle((cpu) => cpu.client), server: middle((cpu) => cpu.server), threads };
  return { rival, value: median(values), spread: spreadOf(values), cpu_us };
}

function ratioOf(to: string, ours: readonly number[], theirs: readonly number[]): Ratio {
  const ratios = ours.map((value, round) => value / theirs[round]!);
  return { to, value: median(ratios), spread: spreadOf(ratios) };
}

function cpuRatio(ours: readonly Measured[], theirs: readonly Measured[]): { cpu?: number } {
  const sum = ({ cpuUs }: Measured) => cpuUs.client + cpuUs.server;
  const cpu = median(ours.map((measured, round) => sum(measured) / sum(theirs[round]!)));
  return Number.isFinite(cpu) ? { cpu } : {};
}

export function spreadOf(values: readonly number[]): [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

function keyOf(figure: ContestFigure, rival: string): string {
  return JSON.stringify([figure.name, rival]);
}

function summary({ jobs, seconds, timesMs }: Measured): string {
  if (timesMs !== undefined) return `p50 ${quantile(timesMs, 0.5).toFixed(2)} ms`;
  return `${Math.round(jobs / seconds)} jobs/s`;
}

/** Progress goes to stderr: stdout belongs to the results. */
function tell(line: string): void {
  console.error(`bench: ${line}`);
}
