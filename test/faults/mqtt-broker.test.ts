import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { heardJobs } from "../mqtt/heard-jobs.ts";
import { listenOn, ratiosOf, shownRatios, timeJobs } from "../support/broker-troubles.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimJob, completedJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";

const withBroker = test.skipIf(noMosquitto !== undefined);
const jobsInAll = 250;
const outages = 5;

async function hubWith(env: Record<string, string> = {}): Promise<TestHub> {
  const hub = await startTestHub({ ...stillEnv, ...env });
  onTestFinished(() => hub.stop());
  return hub;
}

withBroker(
  "F-49: 1,000 events of jobs arrive in order, without a gap, while the broker is killed five times",
  async () => {
    const broker = await Mosquitto.start();
    const listener = await broker.listen("writ/+/jobs/+/events");
    const hub = await hubWith({ WRIT_MQTT_URL: broker.url });
    const workerId = await registerWorker(hub);
    let ended = 0;
    const kills = (async () => {
      for (let outage = 1; outage <= outages; outage++) {
        const due = (outage * jobsInAll) / (outages + 1);
        await eventually("jobs go on", () => ended >= due);
        await broker.kill();
        await eventually("jobs go on without a broker", () => ended >= due + 15);
        await broker.restart();
      }
    })();
    const ids = await runJobs(hub, { workerId, count: jobsInAll, onEnd: () => ended++ });
    await kills;
    const heard = await eventually("every event", () => {
      const jobs = heardJobs(listener);
      const isComplete = ids.every((id) => jobs.get(id)?.length === 4);
      return isComplete && jobs;
    });
    const orders = new Set(
      ids.map((id) =>
        heard
          .get(id)!
          .map(({ seq, event }) => `${seq} ${event}`)
          .join(),
      ),
    );
    expect([...orders]).toEqual(["1 JOB_CREATED,2 JOB_ASSIGNED,3 JOB_STARTED,4 JOB_COMPLETED"]);
    const repeats = listener.heard.length - 4 * ids.length;
    console.log(`F-49: ${4 * ids.length} events, ${outages} outages, ${repeats} sent twice`);
  },
);

withBroker("F-49: a broker that is slow gets everything, in order", async () => {
  const broker = await Mosquitto.start();
  const listener = await broker.listen("writ/+/jobs/+/events");
  const slow = await listenOn((near) => passSlowly(near, broker.port));
  const hub = await hubWith({ WRIT_MQTT_URL: `mqtt://127.0.0.1:${slow}` });
  const workerId = await registerWorker(hub);
  const ids = await runJobs(hub, { workerId, count: 25, onEnd: () => {} });
  await eventually("every event", () => ids.every((id) => heardJobs(listener).get(id)?.length === 4));
});

test("F-49: jobs take as long with a broker that is away, silent or refusing as without one", async () => {
  const times = await timeJobs((round) => round < 60);
  const ratios = ratiosOf(times, 0.5);
  console.log(`F-49: time of a job, broker away, silent, refusing : none = ${shownRatios(ratios)}`);
  // Three calls a job; a job that waited for a broker would take hundreds of times as long.
  for (const ratio of ratios) expect(ratio).toBeLessThan(2);
});

test("F-49: a hub stops although its broker never answers what it was sent", async () => {
  const published = Promise.withResolvers<void>();
  // Accepts the connection, and says nothing more.
  const mute = await listenOn((near) => {
    near.once("data", () => {
      near.write(Buffer.from([0x20, 2, 0, 0]));
      near.once("data", () => published.resolve());
    });
  });
  const hub = await startTestHub({ ...stillEnv, WRIT_MQTT_URL: `mqtt://127.0.0.1:${mute}` });
  await completedJob(hub);
  await published.promise;
  const startedMs = performance.now();
  await hub.stop();
  // Answers are waited for half a minute; the hub must not.
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

/** Runs jobs of one type to their end, some at a time. */
async function runJobs(
  hub: TestHub,
  { workerId, count, onEnd }: { workerId: string; count: number; onEnd(): void },
): Promise<string[]> {
  const type = freshName("told");
  const ids: string[] = [];
  const runOne = async (): Promise<void> => {
    await submitJob(hub, { type });
    const held = await claimJob(hub, { workerId, type });
    await hub.must("POST", `/jobs/${held.id}/start`, { token: hub.admin, body: held.fence });
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: 1 },
    });
    ids.push(held.id);
    onEnd();
  };
  const lane = async (): Promise<void> => {
    while (begun++ < count) await runOne();
  };
  let begun = 0;
  await Promise.all([lane(), lane(), lane(), lane()]);
  return ids;
}

/** Each piece is a while on its way, in both directions. */
function passSlowly(near: Socket, port: number): void {
  const far = connect(port, "127.0.0.1").on("error", () => {});
  const pass = (from: Socket, to: Socket): void => {
    let way = Promise.resolve();
    from.on("data", (piece) => {
      way = way
        .then(() => new Promise((resolve) => setTimeout(resolve, 100)))
        .then(() => void to.write(piece));
    });
    from.on("close", () => to.destroy());
  };
  pass(near, far);
  pass(far, near);
}
