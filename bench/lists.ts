import { Writ } from "../src/client/index.ts";
import { type FigureResult, spreadOf } from "./_contest.ts";
import { median, quantile } from "./_figures.ts";
import { fillHistory } from "./_history.ts";
import { startBenchHub } from "./_hub.ts";
import { type ListSource, type Lists, openLists, startReaders } from "./_list-pages.ts";
import { readOptions } from "./_options.ts";
import { conclude } from "./_results.ts";

/**
 * What a long history costs: a page of each list, a submission while lists are read, and the start of the hub, with 10
 * thousand finished jobs and with a million. Why: ADR 0031, ADR 0070.
 * Usage: npm run bench -- lists [--jobs MANY] [--rounds N] [--json] [--save]
 */
const few = 10_000;
const options = readOptions();
const many = options.jobs ?? 1_000_000;
const pages = 20;
const submits = 300;
const readers = 2;
const sizes = { few: count(few), many: count(many) };

type Times = Map<string, number[]>;

let hub = await startBenchHub();
try {
  const atFew = await measureSize(few, sizes.few);
  const atMany = await measureSize(many - few, sizes.many);
  const listFigures = [...atFew.pages.keys()].map((name) =>
    compare(`page of 50 jobs: ${name}`, "ms", [
      [sizes.many, atMany.pages.get(name)!],
      [sizes.few, atFew.pages.get(name)!],
    ]),
  );
  conclude(
    "lists",
    [
      ...listFigures,
      compare(`submit p99 with ${sizes.many}`, "ms", [
        ["while lists are read", atMany.submits.get("busy")!],
        ["without lists", atMany.submits.get("quiet")!],
      ]),
      compare("hub start", "ms", [
        [sizes.many, atMany.startsMs],
        [sizes.few, atFew.startsMs],
      ]),
    ],
    options,
  );
} finally {
  await hub.stop();
}

async function measureSize(
  more: number,
  name: string,
): Promise<{ pages: Times; submits: Times; startsMs: number[] }> {
  tell(`filling up to ${name}`);
  await fillHistory(hub, more, tell);
  const startsMs: number[] = [];
  for (let round = 0; round < options.rounds; round++) startsMs.push(await restart());
  const writ = new Writ({ url: hub.url, token: hub.token });
  const source = await sourceOf(writ);
  const lists = openLists(source);
  try {
    tell(`reading lists with ${name}`);
    return { pages: await timePages(lists), submits: await timeSubmits(writ, source), startsMs };
  } finally {
    lists.close();
    writ.close();
  }
}

/** From the start of the program to its answer. */
async function restart(): Promise<number> {
  await hub.leave();
  const startedAt = performance.now();
  hub = await startBenchHub({}, hub.home);
  return performance.now() - startedAt;
}

async function sourceOf(writ: Writ): Promise<ListSource> {
  const { token } = await writ.createToken({ role: "viewer", tenantId: "default", userId: "bench-reader" });
  return { url: hub.url, admin: hub.token, tenant: token };
}

async function timePages({ read: lists }: Lists): Promise<Times> {
  const times: Times = new Map(Object.keys(lists).map((name) => [name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, read] of Object.entries(lists)) {
      const found: number[] = [];
      for (let n = 0; n < pages; n++) found.push(await timed(read));
      times.get(name)!.push(median(found));
    }
  }
  return times;
}

/** The 99th percentile of single submissions, in turns without readers and with some that never pause. */
async function timeSubmits(writ: Writ, source: ListSource): Promise<Times> {
  const times: Times = new Map([
    ["quiet", []],
    ["busy", []],
  ]);
  const submit = () => writ.submit({ type: "new", params: { text: "x".repeat(200) } });
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, found] of times) {
      const endReaders = name === "quiet" ? undefined : await startReaders(source, readers);
      const taken: number[] = [];
      for (let n = 0; n < submits; n++) taken.push(await timed(submit));
      await endReaders?.();
      found.push(quantile(taken, 0.99));
    }
  }
  return times;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function compare(
  figure: string,
  unit: string,
  [ours, base]: [[string, number[]], [string, number[]]],
): FigureResult {
  const entries = [ours, base].map(([rival, values]) => ({
    rival,
    value: median(values),
    spread: spreadOf(values),
  }));
  const ratios = ours[1].map((value, round) => value / base[1][round]!);
  const ratio = { to: base[0], value: median(ratios), spread: spreadOf(ratios) };
  return { figure, unit, rounds: options.rounds, entries, ratios: [ratio] };
}

function count(jobs: number): string {
  return `${jobs.toLocaleString("en")} jobs`;
}

function tell(line: string): void {
  console.error(`bench: ${line}`);
}
