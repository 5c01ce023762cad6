import { expect, test } from "vitest";
import { sqliteUnderTest } from "../store-contract/sqlite-under-test.ts";
import { useScene } from "../store-contract/use-scene.ts";

const jobs = 1_000_000;
const batchJobs = 1000;
const tenants = ["acme", "globex", "initech"];
const pageRows = 100;
const turns = 40;
/** Deep pages are not in the cache of a first look; a page that had to count what lies before it would take hundreds of times as long. */
const ratioMax = 5;

const scene = useScene(() => sqliteUnderTest());

test("in a million jobs, the last page takes as long as the first, and a count no longer than with a few", async () => {
  const { store } = scene();
  const count = () => store.countJobs({ tenantId: "acme", statuses: ["pending"] });
  await scene().submit({ tenantId: "acme" });
  const fewCountMs = await medianMs(async () => void (await count()));
  for (let made = 1; made < jobs; made += batchJobs) {
    const batch = Array.from({ length: batchJobs }, (_, index) =>
      scene().newJob({ tenantId: tenants[index % tenants.length]! }),
    );
    await scene().submitAll(batch);
  }
  const page = (before?: number) => async () => {
    const { jobs: found } = await store.listJobs({ limit: pageRows, before });
    expect(found).toHaveLength(pageRows);
  };
  // In turns, so that whatever else the machine does concerns all of them.
  const places = { first: undefined, middle: jobs / 2, last: pageRows + 1 } as const;
  const times: Record<keyof typeof places, number[]> = { first: [], middle: [], last: [] };
  for (let turn = 0; turn < turns; turn++) {
    for (const [name, before] of Object.entries(places) as [keyof typeof places, number | undefined][])
      times[name].push(await msOf(page(before === undefined ? undefined : before + turn)));
  }
  const figures = {
    firstMs: median(times.first),
    middleMs: median(times.middle),
    lastMs: median(times.last),
    fewCountMs,
    countMs: await medianMs(async () => void (await count())),
  };
  console.log(JSON.stringify(figures));
  expect(figures.middleMs / figures.firstMs).toBeLessThan(ratioMax);
  expect(figures.lastMs / figures.firstMs).toBeLessThan(ratioMax);
  expect((await count()).isMore).toBe(false);
  expect(figures.countMs / figures.fewCountMs).toBeLessThan(ratioMax * 2);
});

async function msOf(act: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await act();
  return performance.now() - startedMs;
}

async function medianMs(act: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  while (times.length < turns) times.push(await msOf(act));
  return median(times);
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
