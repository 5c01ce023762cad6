import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { type EventKind, eventTable } from "../../src/core/events.ts";
import { verifyAudit } from "../../src/hub/admin.ts";
import { noNetwork } from "./database-network.ts";
import { eventually } from "./eventually.ts";
import { FleetLoad, outputOfJob } from "./fleet-load.ts";
import { HubFleet } from "./hub-fleet.ts";
import { noPostgres } from "./postgres-cluster.ts";
import { querySync } from "./query-sync.ts";

const hubs = 3;
/** A claim waits so long for a job: one interval of polling. */
const pollMs = 1_000;
const pollsMax = 5;

/** What happens, and how. */
export type Fault = [string, (fleet: HubFleet) => Promise<void>];

/**
 * Three hubs under load, and one fault after the other: nothing is lost, nothing happens twice, no reader misses
 * anything.
 */
export function describeFleetFaults(faults: Fault[]): void {
  const lack = noPostgres ?? noNetwork;
  describe.skipIf(lack !== undefined)(`three hubs on one database${lack ? `: ${lack}` : ""}`, () => {
    let fleet: HubFleet;
    beforeAll(async () => {
      fleet = new HubFleet(hubs);
      await fleet.start({ workers: 2 });
    });
    afterAll(() => fleet?.stop());

    test(`keep every promise through ${faults.map(([name]) => name).join(", ")}`, async () => {
      const load = new FleetLoad(fleet);
      onTestFinished(() => load.stop());
      await load.start();
      for (const [name, act] of faults) {
        const before = load.acknowledged.size;
        await act(fleet);
        for (let hub = 0; hub < hubs; hub++) await claimAgain(fleet, hub, name);
        await eventually(`jobs are accepted after ${name}`, () => load.acknowledged.size > before);
      }
      await load.stopProducing();
      await checkJobs(fleet, load);
      await checkFollowers(fleet, load);
      const verdict = await verifyAudit({ home: fleet.hubs[0]!.home, env: fleet.environment() });
      expect(verdict.faults).toEqual([]);
    });
  });
}

/** A hub that is well again gives a new job to a worker that claims it there, within a few intervals of polling. */
async function claimAgain(fleet: HubFleet, hub: number, after: string): Promise<void> {
  const writ = new Writ({ url: fleet.urls[hub]!, token: fleet.token, retryMs: 60_000 });
  try {
    const type = `probe-${crypto.randomUUID()}`;
    const worker_id = `claimer-${hub}`;
    const post = (path: string, body: unknown) =>
      fetch(`${fleet.urls[hub]}/api/v1${path}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${fleet.token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    // The tag keeps it from the workers of the load, which take whatever comes while they have a free slot.
    const tags = ["probe"];
    const claimer = { worker_id, cores: 1, ram_gb: 1, types: [type], tags, kinds: ["exec"] };
    await eventually(`hub ${hub} knows its claimer after ${after}`, async () => {
      return (await post("/workers/register", claimer)).ok;
    });
    const { id } = await writ.submit({ type, run: { kind: "exec", argv: ["true"] }, requires: { tags } });
    let polls = 0;
    const lease = await eventually(`hub ${hub} gives the job after ${after}`, async () => {
      const answer = await post("/jobs/claim", { worker_id, types: [type], wait_ms: pollMs });
      polls++;
      if (answer.status >= 400 && answer.status < 500) throw new Error(await answer.text());
      return answer.status === 200 && ((await answer.json()) as { lease: string }).lease;
    });
    expect(polls, `polls at hub ${hub} after ${after}`).toBeLessThanOrEqual(pollsMax);
    const { attempt, token } = JSON.parse(lease) as { attempt: number; token: string };
    const done = await post(`/jobs/${id}/result`, { worker_id, attempt, token, result: null });
    expect(done.status).toBe(200);
  } finally {
    writ.close();
  }
}

/** Every acknowledged job has completed once, and any hub shows its output whole. */
async function checkJobs(fleet: HubFleet, load: FleetLoad): Promise<void> {
  const clients = fleet.hubs.map((_, index) => fleet.client(index));
  try {
    for (const [index, id] of [...load.acknowledged].entries()) {
      const client = clients[index % clients.length]!;
      expect(await client.wait(id, { timeoutMs: 120_000 })).toMatchObject({ status: "completed" });
      const parts = await Array.fromAsync(client.streamOutput(id, { follow: false }));
      expect(Buffer.concat(parts).toString(), id).toBe(outputOfJob);
    }
  } finally {
    for (const client of clients) client.close();
  }
  const completions = logOf(fleet).filter(({ event }) => event === "JOB_COMPLETED");
  const times = Map.groupBy(completions, ({ job_id }) => job_id);
  expect([...times.values()].filter(({ length }) => length !== 1)).toEqual([]);
  expect([...load.acknowledged].filter((id) => !times.has(id))).toEqual([]);
}

/** Each follower received the log from where it began: in order, without a gap and without a repetition. */
async function checkFollowers(fleet: HubFleet, load: FleetLoad): Promise<void> {
  const log = logOf(fleet);
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
  const lines = log
    .filter(({ event }) => eventTable[event].live !== null)
    .map(({ event, job_id }) => `job:${eventTable[event].live} ${job_id}`);
  for (const told of load.told) {
    const seen = () => told.map(({ event, id }) => `${event} ${id}`);
    const from = lines.indexOf(seen()[0]!);
    await eventually("the follower has heard the last of it", () => told.length >= lines.length - from);
    expect(seen()).toEqual(lines.slice(from));
  }
}

type Line = { seq: number; event: EventKind; job_id: string | null };

function logOf(fleet: HubFleet): Line[] {
  const url = fleet.environment()["WRIT_DATABASE_URL"]!;
  return querySync(url, "SELECT seq, event, job_id FROM events ORDER BY seq").rows as Line[];
}
