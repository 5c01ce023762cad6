import { expect, onTestFinished, test } from "vitest";
import { startBotServer } from "../../../test/support/bot-server.ts";
import { WritError } from "../../core/errors.ts";
import { type HandClock, handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { DatabaseOutage } from "../database/database-outage.ts";
import { FailureLog } from "../failure-log.ts";
import { createOutageWatch } from "./outage-watch.ts";
import { webhookChannel } from "./webhook.ts";

async function setUp() {
  const server = await startBotServer();
  onTestFinished(() => server.stop());
  const clock = handClock();
  const outage = new DatabaseOutage(silentLogger, clock);
  const channels = [webhookChannel({ url: server.url, secret: "0123456789abcdef" }, clock)];
  const failures = new FailureLog(silentLogger, outage);
  const settings = { publicUrl: null };
  const deps = { clock, logger: silentLogger, outage, failures, home: "/home/writ", settings };
  const watch = createOutageWatch(deps, channels);
  await watch.start();
  onTestFinished(() => watch.stop());
  const heard = () =>
    server.heard.map(({ body }) => {
      const { event, state, subjects } = JSON.parse(body) as Record<string, string>;
      return { event, state, subjects };
    });
  return { clock, outage, heard };
}

/** The watch waits for the answers of a real server, so time passes until it has heard enough. */
async function untilHeard(clock: HandClock, heard: () => unknown[], count: number, meanwhile = () => {}) {
  await expect
    .poll(
      async () => {
        meanwhile();
        await clock.pass(1_000);
        return heard().length;
      },
      { interval: 5, timeout: 30_000 },
    )
    .toBe(count);
}

const away = new WritError("STORE_UNAVAILABLE", "the database does not answer", {
  away: true,
  advice: "wait",
});

test("O-23 an outage of the database sends one alert when it begins and one when it ends; a short gap sends none", async () => {
  const { clock, outage, heard } = await setUp();
  outage.noticed(away);
  await clock.pass(2_000);
  outage.answered();
  await clock.pass(10_000);
  expect(outage.isOn).toBe(false);
  expect(heard()).toEqual([]);

  await untilHeard(clock, heard, 1, () => outage.noticed(away));
  for (let second = 0; second < 120; second++) {
    outage.noticed(away);
    await clock.pass(1_000);
  }
  await untilHeard(clock, heard, 2, () => outage.answered());
  expect(heard()).toEqual([
    { event: "DATABASE_AWAY", state: "begun", subjects: ["/home/writ"] },
    { event: "DATABASE_AWAY", state: "over", subjects: ["/home/writ"] },
  ]);
});

test.each([
  ["the database", { full: true }, "database"],
  ["outputs", { reason: "ENOSPC" }, "outputs and files"],
])("O-23 a full disk of %s sends one alert, and another when there is room", async (_, details, subject) => {
  const { clock, outage, heard } = await setUp();
  const refuse = () => outage.noticed(new WritError("STORE_UNAVAILABLE", "it is full", details));
  await untilHeard(clock, heard, 1, refuse);
  for (let second = 0; second < 120; second += 10) {
    refuse();
    await clock.pass(10_000);
  }
  await untilHeard(clock, heard, 2, () => outage.answered());
  expect(heard()).toEqual([
    { event: "DISK_FULL", state: "begun", subjects: [subject] },
    { event: "DISK_FULL", state: "over", subjects: [subject] },
  ]);
});
