import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { stillEnv } from "../support/hub.ts";
import { completedJob, registerWorker, submitJob } from "../support/jobs.ts";
import { hubForAll } from "../support/use-hub.ts";
import { signIn } from "./browser.ts";
import { countBytes, type Traffic } from "./count-bytes.ts";
import { adminForAll, browserSuite } from "./use-browser.ts";
import { visit } from "./visit.ts";

const workers = 50;
const bytesMax = 50_000;

browserSuite("traffic of an open page", () => {
  const hub = hubForAll(stillEnv);
  const admin = adminForAll(hub);
  let page: Page;
  let jobId: string;
  const token = () => hub.admin;

  const nameOf = (index: number) => `machine-${index}-in-the-hall.example.internal`;
  /** Every value differs from worker to worker and from report to report, as those of real machines do. */
  const report = async (index: number, ts: number) => {
    const noise = (salt: number) => ((ts + index * 7919 + salt * 104729) * 2654435761) % 1e6;
    const body = {
      ts,
      cpu_percent: noise(1) / 1e4,
      load1: noise(2) / 1e5,
      mem_used_bytes: Math.round(noise(3) * 16_000),
      mem_total_bytes: 16_000_000_000,
      disk_free_bytes: Math.round(noise(4) * 90_000),
      slots_used: index % 8,
      slots: 8,
      signatures_verified: Math.round(noise(5)),
    };
    await hub.must("POST", `/workers/${nameOf(index)}/metrics`, { token: token(), body });
  };
  const all = Array.from({ length: workers }, (_, index) => index);

  beforeAll(async () => {
    for (const index of all) {
      await registerWorker(hub, { worker_id: nameOf(index), tags: ["gpu", `rack-${index % 7}`] });
      await Promise.all([50, 40, 30, 20, 10].map((minutes) => report(index, Date.now() - minutes * 60_000)));
    }
    const held = await completedJob(hub, { workerId: nameOf(0) });
    jobId = held.id;
    for (let count = 0; count < 30; count++) await submitJob(hub);
    ({ page } = await visit(admin.browser));
    await page.clock.install();
    await signIn(page, hub, token());
  });
  afterAll(() => page?.context().close());

  /** Opens a page and waits until its stream is open and everything that it asks for at first is answered. */
  const openPage = async (path: string) => {
    const counted = await countBytes(page);
    await page.goto(`${hub.url}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const isLoaded = () => "/api/v1/jobs/events" in counted.read().calls;
    for (let second = 0; second < 10 || !isLoaded(); second++) {
      if (second > 600) throw new Error(`${path} has no stream: ${JSON.stringify(counted.read().calls)}`);
      await page.clock.runFor(1_000);
      await counted.settled();
    }
    return counted;
  };

  /** A minute by the page's own clock, second by second; each second ends when everything that it asked for is answered. */
  const idleMinute = async (path: string): Promise<Traffic> => {
    const counted = await openPage(path);
    const before = counted.read();
    for (let second = 0; second < 60; second++) {
      // Workers report every ten seconds, one after the other.
      await Promise.all(
        all.slice((second % 10) * 5, (second % 10) * 5 + 5).map((index) => report(index, Date.now())),
      );
      await page.clock.runFor(1_000);
      await counted.settled();
    }
    const after = counted.read();
    await counted.stop();
    const calls = Object.fromEntries(
      Object.entries(after.calls).map(([name, count]) => [name, count - (before.calls[name] ?? 0)]),
    );
    return { bytes: after.bytes - before.bytes, calls };
  };

  for (const path of ["/", "/jobs", "/fleet", "/queues", "/audit", "/access", "/settings", "/submit"]) {
    test(`O-32 ${path} costs at most 50 kB a minute while nothing happens, with 50 workers`, async () => {
      const { bytes, calls } = await idleMinute(path);
      if (process.env["WRIT_SHOW_TRAFFIC"]) console.log(path, bytes, JSON.stringify(calls));
      expect(bytes, JSON.stringify(calls)).toBeLessThan(bytesMax);
      // It still asks: a page that is dead costs nothing either.
      expect(calls["/api/v1/lockdown"]).toBeGreaterThan(1);
    });
  }

  test("O-32 the page of an ended job costs at most 50 kB a minute", async () => {
    const { bytes, calls } = await idleMinute(`/jobs/${jobId}`);
    if (process.env["WRIT_SHOW_TRAFFIC"]) console.log("job", bytes, JSON.stringify(calls));
    expect(bytes, JSON.stringify(calls)).toBeLessThan(bytesMax);
  });

  test("O-32 the stream reports a blocked worker before the page would read the list", async () => {
    const counted = await openPage("/jobs");
    const fleet = page
      .getByRole("navigation", { name: "Main", exact: true })
      .getByRole("link", { name: "Fleet" });
    await fleet.getByText(`${workers}/${workers}`).waitFor();
    const pageNow = () => page.evaluate("Date.now()") as Promise<number>;
    const started = await pageNow();
    await hub.must("POST", `/workers/${nameOf(3)}/block`, { token: token(), body: {} });
    const turn = async () => {
      await page.clock.runFor(100);
      return fleet.getByText(`${workers - 1}/${workers}`).count();
    };
    await expect.poll(turn, { timeout: 60_000, interval: 20 }).toBe(1);
    // By the page's own clock: it asks by itself a minute after it was loaded.
    expect((await pageNow()) - started).toBeLessThan(40_000);
    await counted.stop();
  });

  test("O-32 a list of workers has as many measurements as were requested, compressed for callers that accept it", async () => {
    const read = async (query: string, accept: string) => {
      const headers = { Authorization: `Bearer ${token()}`, "Accept-Encoding": accept };
      const answer = await fetch(`${hub.url}/api/v1/workers${query}`, { headers });
      const list = (await answer.json()) as WorkerView[];
      return {
        coding: answer.headers.get("content-encoding"),
        samples: list.find(({ id }) => id === nameOf(0))!.metrics.map(({ ts }) => ts),
      };
    };
    const everything = await read("", "identity");
    expect(everything.coding).toBe(null);
    const { samples } = everything;
    expect(samples.length).toBeGreaterThan(5);
    expect(await read("?samples=1", "gzip")).toEqual({ coding: "gzip", samples: samples.slice(-1) });
    expect((await read("?samples=0", "gzip")).samples).toEqual([]);
    const three = (await read("?samples=3", "gzip;q=0")) as { coding: null; samples: number[] };
    expect([three.coding, three.samples.length]).toEqual([null, 3]);
    expect([three.samples[0], three.samples[2]]).toEqual([samples[0], samples.at(-1)]);
  });
});
