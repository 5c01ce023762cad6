import type { Browser, CDPSession, Page } from "playwright-core";

/** What the browser's main thread did for a page between two moments. */
export type PageWork = {
  seconds: number;
  /** Tasks over 50 ms by the clock, as people feel them; other programs on the machine count here too. */
  longTasks: number;
  longTaskMs: number;
  /** Tasks that used the processor for over 50 ms: those are the page's own fault, however busy the machine is. */
  heavyTasks: number;
  heaviestMs: number;
  cpuMs: number;
  layouts: number;
};

const longMs = 50;

type Metrics = Record<string, number>;

/** Measures a page while something happens. */
export async function watchWork(page: Page, during: () => Promise<void>): Promise<PageWork> {
  const browser = page.context().browser()!;
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.evaluate(`window.longTasks = [];
    window.longTaskObserver ??= new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longTasks.push(duration);
    });
    window.longTaskObserver.observe({ type: "longtask" });`);
  await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-toplevel"] });
  const startedMs = performance.now();
  const before = await metricsOf(session);
  await during();
  const after = await metricsOf(session);
  const seconds = (performance.now() - startedMs) / 1000;
  const longTasks = (await page.evaluate("window.longTasks")) as number[];
  const heavy = await heavyTasks(browser);
  await session.detach();
  return {
    seconds,
    longTasks: longTasks.length,
    longTaskMs: Math.round(longTasks.reduce((sum, ms) => sum + ms, 0)),
    heavyTasks: heavy.filter((ms) => ms > longMs).length,
    heaviestMs: Math.round(Math.max(0, ...heavy)),
    cpuMs: Math.round((after["TaskDuration"]! - before["TaskDuration"]!) * 1000),
    layouts: after["LayoutCount"]! - before["LayoutCount"]!,
  };
}

async function metricsOf(session: CDPSession): Promise<Metrics> {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  tdur?: number;
  args?: { name?: string };
};

/** How much processor time each task of the page's main thread took, in milliseconds. */
async function heavyTasks(browser: Browser): Promise<number[]> {
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return traceEvents
    .filter(
      ({ name, ph, pid, tid }) => ph === "X" && /RunTask$/.test(name) && mainThreads.has(`${pid} ${tid}`),
    )
    .map(({ tdur = 0 }) => tdur / 1000);
}

/** The size of the page's heap after garbage collection. */
export async function heapMib(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 2 ** 20;
}

/** Flicker that a person would have seen in the table of jobs. */
export type Flicker = {
  /** Rows that left the document and came back, or whose element was made anew. */
  remade: number;
  /** Rows that went back to an earlier state of the same attempt. */
  undone: string[];
  /** Moments in which the table had no row. */
  empty: number;
};

/** Looks at every change of the table from now on; `readFlicker` says what it saw. */
export async function watchFlicker(page: Page): Promise<void> {
  await page.evaluate(flickerScript);
}

export async function readFlicker(page: Page): Promise<Flicker> {
  return (await page.evaluate("window.flicker")) as Flicker;
}

/** It runs in the page. A job of the storm has one attempt, so that its states have one order. */
const flickerScript = `(() => {
  // More than a window of rows and its neighbours: a job that left it long ago does not come back, and what watches must not grow itself.
  const statesMax = 1000;
  const order = ["Pending", "Assigned", "Running", "Completed", "Failed"];
  const flicker = (window.flicker = { remade: 0, undone: [], empty: 0 });
  const elements = new Map();
  const states = new Map();
  const look = () => {
    const rows = document.querySelectorAll(".row-window .job-row");
    if (rows.length === 0) flicker.empty += 1;
    for (const row of rows) {
      const id = row.dataset.id;
      const known = elements.get(id);
      if (known !== undefined && known !== row) flicker.remade += 1;
      elements.set(id, row);
      const word = row.querySelector(".cell-state").textContent;
      const before = states.get(id);
      const isBack = order.indexOf(word) < order.indexOf(before);
      if (isBack || (before === "Completed" && word === "Failed")) flicker.undone.push(id + ": " + before + " to " + word);
      states.delete(id);
      states.set(id, word);
    }
    for (const id of states.keys()) {
      if (states.size <= statesMax) break;
      states.delete(id);
    }
    const shown = new Set([...rows].map((row) => row.dataset.id));
    for (const id of elements.keys()) if (!shown.has(id)) elements.delete(id);
  };
  const main = document.querySelector("main");
  new MutationObserver(look).observe(main, { childList: true, subtree: true, characterData: true });
  look();
})()`;
