import { expect, test } from "vitest";
import { publish, type RegistryPlace, readLog, register, subscribe } from "../../src/registry/index.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { eventually } from "../support/eventually.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { emptyDirectory } from "./registry-process.ts";

const withBroker = test.skipIf(noMosquitto !== undefined);
const job = { prompt: "p", agent: "a", agentSession: "s", auth: true };
/** Nothing listens on port 1. */
const away = { MQTT_HOST: "127.0.0.1", MQTT_PORT: "1" };

/** Follows a job to its end on a clock of its own, so that nothing waits for real seconds. */
async function follow(place: RegistryPlace, id: string): Promise<{ end: string; events: string[] }> {
  const clock = handClock();
  const events: string[] = [];
  let end: string | undefined;
  const followed = subscribe({ ...place, clock }, id, { onMessage: ({ event }) => events.push(event) });
  void followed.then((outcome) => {
    end = outcome;
  });
  await eventually("the subscription has ended", async () => {
    await clock.pass(500);
    return end !== undefined;
  });
  return { end: await followed, events };
}

async function published(place: RegistryPlace, id: string): Promise<unknown[]> {
  const lines = await readLog(place, id);
  return lines
    .filter(({ event }) => event === "published")
    .map(({ payload }) => (payload as { event: string }).event);
}

withBroker("O-19: the history calls an event published when the broker has it, not before", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  await publish({ cwd, env: away }, id, { event: "one" });
  expect(await published({ cwd }, id)).toEqual([]);
  await publish({ cwd }, id, { event: "two" });
  expect(await published({ cwd }, id)).toEqual(["one", "two"]);
});

withBroker("O-19: a subscriber that comes after the end gets the last event from the broker", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  await publish({ cwd }, id, { event: "begin", status: "running" });
  await publish({ cwd }, id, { event: "end", status: "completed" });
  const events: string[] = [];
  // Without a history there is only the broker to ask.
  const place = { cwd, logsDir: "/dev/null/none" };
  expect(await subscribe(place, id, { onMessage: ({ event }) => events.push(event) })).toBe("completed");
  expect(events).toEqual(["end"]);
});

withBroker("O-19: a subscriber without a connection shows what the broker got in the end", async () => {
  const broker = await Mosquitto.start();
  const cwd = emptyDirectory();
  const { job_id: id } = await register({ cwd }, { ...job, broker: broker.url });
  await publish({ cwd }, id, { event: "begin", status: "running" });
  await publish({ cwd }, id, { event: "end", status: "error", data: { tests: 2.5 } });
  expect(await follow({ cwd, env: away }, id)).toEqual({ end: "error", events: ["end"] });
});

test("O-19: a subscriber shows the events that the broker never got", async () => {
  const cwd = emptyDirectory();
  const place = { cwd, env: away };
  const { job_id: id } = await register(place, job);
  await publish(place, id, { event: "begin", status: "running" });
  await publish(place, id, { event: "end", status: "completed" });
  expect(await follow(place, id)).toEqual({ end: "completed", events: ["begin", "end"] });
});
