import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAudit } from "../../src/hub/admin.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub } from "../support/hub.ts";
import { noonClock } from "../support/noon-clock.ts";

const dayMs = 86_400_000;
let home: string;
let admin: string;

async function withHub<T>(daysAgo: number, act: (url: string) => Promise<T>): Promise<T> {
  const hub = await startTestHub({ WRIT_AUDIT_COLD_DAYS: "30" }, { home, clock: noonClock(-daysAgo) });
  admin = hub.admin;
  try {
    return await act(`${hub.url}/api/v1`);
  } finally {
    await hub.stop({ keepHome: true });
  }
}

async function call(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${admin}`, "Content-Type": "application/json" };
  return fetch(url, { ...init, headers: { ...headers, ...init.headers } });
}

async function submit(url: string, type: string): Promise<void> {
  const body = JSON.stringify({ type, run: { kind: "exec", argv: ["true"] } });
  expect((await call(`${url}/jobs`, { method: "POST", body })).status).toBe(201);
}

type Found = { seq: number; event: string; details: { type?: string } };

async function search(url: string, query: string): Promise<Found[]> {
  const records: Found[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const answer = await call(`${url}/audit?limit=3&${query}${cursor === "" ? "" : `&cursor=${cursor}`}`);
    expect(answer.status).toBe(200);
    records.push(...((await answer.json()) as Found[]));
    cursor = answer.headers.get("x-next-cursor");
  }
  return records;
}

const dayOf = (daysAgo: number) => new Date(noonClock(-daysAgo).nowMs()).toISOString().slice(0, 10);
const coldFiles = () => readdirSync(join(home, "audit")).filter((name) => name.endsWith(".gz"));

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "writ-cold-"));
  await withHub(45, (url) => submit(url, "ancient"));
  await withHub(20, (url) => submit(url, "old"));
  await withHub(19, (url) => submit(url, "old"));
  await withHub(0, async (url) => {
    await submit(url, "new");
    // The retention's first round comes with the start.
    const expected = [20, 19].map((daysAgo) => `${dayOf(daysAgo)}.ndjson.gz`);
    await eventually("what is old has moved, and what is too old is gone", () =>
      isDeepStrictEqual(coldFiles().sort(), expected),
    );
  });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("one private file a day holds what has left the database, with its hashes", () => {
  const lines = coldFiles().flatMap((name) => {
    const path = join(home, "audit", name);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = gunzipSync(readFileSync(path)).toString();
    return text
      .trim()
      .split("\n")
      .map((line) => ({ name, ...JSON.parse(line) }));
  });
  expect(lines.length).toBeGreaterThan(1);
  for (const { name, timestamp } of lines) expect(name).toBe(`${timestamp.slice(0, 10)}.ndjson.gz`);
  for (const [index, { prev_hash }] of lines.entries()) {
    if (index > 0) expect(prev_hash).toBe(lines[index - 1].hash);
  }
});

test("the chain is whole across database and files, and says where it begins", async () => {
  const verdict = await verifyAudit({ home, env: {} });
  expect(verdict.faults).toEqual([]);
  expect(verdict.first).toBeGreaterThan(1);
});

test("the search finds both, newest first, page by page, and filters both", async () => {
  await withHub(0, async (url) => {
    const all = await search(url, "event=JOB_CREATED");
    expect(all.map(({ details }) => details.type)).toEqual(["new", "old", "old"]);
    const between = Math.floor(noonClock(-19).nowMs() - dayMs / 2);
    expect(await search(url, `event=JOB_CREATED&since=${between}`)).toHaveLength(2);
    expect(await search(url, `event=JOB_CREATED&until=${between}`)).toHaveLength(1);
    expect(await search(url, "event=JOB_CREATED&tenant_id=no_tenant")).toEqual([]);
    expect(await search(url, "severity=CRITICAL")).toEqual([]);
    const everything = await search(url, "");
    const seqs = everything.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => b - a));
  });
});

test("a reader of live events from before the cut is told to begin anew", async () => {
  await withHub(0, async (url) => {
    const abort = new AbortController();
    const answer = await call(`${url}/jobs/events`, {
      headers: { "Last-Event-ID": "1" },
      signal: abort.signal,
    });
    const reader = answer.body!.getReader();
    let text = "";
    while (!text.includes("event: reset")) {
      const { value, done } = await reader.read();
      expect(done, text).toBe(false);
      text += Buffer.from(value!).toString();
    }
    abort.abort();
  });
});

test("L-06: an edited line and a missing file are found and named", async () => {
  const [first, second] = coldFiles()
    .sort()
    .map((name) => join(home, "audit", name));
  const kept = [readFileSync(first!), readFileSync(second!)];
  const lines = gunzipSync(kept[0]!).toString().split("\n");
  const seq = JSON.parse(lines[0]!).seq;
  writeFileSync(first!, gzipSync(lines.join("\n").replace('"owner_id":"root"', '"owner_id":"eve"')));
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([
    { seq: expect.any(Number), what: "was changed after it was sealed" },
  ]);
  rmSync(first!);
  const { faults } = await verifyAudit({ home, env: {} });
  expect(faults[0]).toMatchObject({ seq, what: expect.stringMatching(/^was removed/) });
  writeFileSync(first!, kept[0]!);
  writeFileSync(second!, Buffer.from("not a file of ours"));
  expect((await verifyAudit({ home, env: {} })).faults[0]?.what).toMatch(/cannot be read/);
  writeFileSync(second!, kept[1]!);
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);
});
