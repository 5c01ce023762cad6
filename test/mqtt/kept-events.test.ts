import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { NewEvent } from "../../src/core/events.ts";
import { silentFailures as failures } from "../../src/hub/failure-log.testing.ts";
import { MqttPublisher } from "../../src/hub/mqtt/mqtt-publisher.ts";
import { EventFeed } from "../../src/hub/services/event-feed.ts";
import { createMetrics } from "../../src/hub/services/metrics/metrics.ts";
import { type Clock, systemClock } from "../../src/runtime/clock/clock.ts";
import { handClock } from "../../src/runtime/clock/hand-clock.testing.ts";
import { silentLogger as logger } from "../../src/runtime/log/logger.ts";
import { openSqliteStore } from "../../src/store/sqlite/open-store.ts";
import { eventually } from "../support/eventually.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";

const login: NewEvent = {
  event: "LOGIN_SUCCESS",
  ts: 1,
  tenantId: "acme",
  jobId: null,
  ownerId: null,
  details: {},
  origin: null,
};

/** A store with its feed, and publishers that send its events to a broker. */
async function openScene() {
  const broker = await Mosquitto.start();
  const folder = mkdtempSync(join(tmpdir(), "writ-mqtt-"));
  const store = await openSqliteStore({ path: join(folder, "writ.sqlite"), macKey: Buffer.alloc(32, 7) });
  const feed = new EventFeed(store, systemClock);
  await feed.start();
  onTestFinished(async () => {
    await feed.stop();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const publisher = (clock: Clock = systemClock) => {
    const metrics = createMetrics("1");
    const address = { host: "127.0.0.1", port: broker.port, tls: false, username: null, password: null };
    const settings = { broker: { ...address, ca: null, protocolVersion: 4 as const }, hmacKey: null };
    const deps = { store, leadership: { isLeader: true }, feed, clock, logger, failures, metrics };
    return { metrics, service: new MqttPublisher(deps, settings) };
  };
  const sentThrough = (seq: number) =>
    eventually("it has caught up", async () => (await store.getLogReader({ name: "mqtt" })).seq === seq);
  return { store, publisher, sentThrough };
}

test.skipIf(noMosquitto !== undefined)(
  "F-49: what waits is bounded by how long events are kept; what was removed is counted and passed over",
  async () => {
    const { store, publisher, sentThrough } = await openScene();
    const first = publisher();
    await first.service.start();
    await first.service.stop();
    await store.recordEvents({ events: [login, login, login, login] });
    await store.pruneEvents({ throughSeq: 3, limit: 9 });
    const { metrics, service } = publisher();
    await service.start();
    onTestFinished(() => service.stop());
    await sentThrough(4);
    const { values } = await metrics.mqtt.skipped.get();
    expect(values.map(({ value }) => value)).toEqual([3]);
  },
);

test.skipIf(noMosquitto !== undefined)(
  "a publisher that was stopped with something to send hears of commits again once it is started",
  async () => {
    const { store, publisher, sentThrough } = await openScene();
    const clock = handClock();
    const { service } = publisher(clock);
    const connected = () => eventually("it is connected", () => service.state === "connected");
    await service.start();
    await connected();
    await store.recordEvents({ events: [login] });
    await service.stop();
    await service.start();
    onTestFinished(() => service.stop());
    await connected();
    await sentThrough(1);
    await store.recordEvents({ events: [login] });
    // Long before its next round.
    await clock.pass(100);
    await sentThrough(2);
  },
);
