import { expect, onTestFinished, test } from "vitest";
import { stillEnv } from "../../test/support/hub.ts";
import { startMemoryHub } from "../../test/support/memory-hub.ts";
import { WritError } from "../core/errors.ts";
import { handClock } from "../runtime/clock/hand-clock.testing.ts";
import { type Logger, silentLogger } from "../runtime/log/logger.ts";
import { DatabaseOutage } from "./database/database-outage.ts";
import { FailureLog } from "./failure-log.ts";
import { errorReply } from "./http/error-reply.ts";
import { logCall } from "./http/log-call.ts";

function setUp() {
  const lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } });
  const logger = { ...silentLogger, warn: write("warn"), error: write("error") } as unknown as Logger;
  const clock = handClock();
  const told: string[] = [];
  const outage = new DatabaseOutage(logger, clock, (line) => void told.push(line));
  return { lines, told, logger, clock, outage, failures: new FailureLog(logger, outage) };
}

const away = new WritError("STORE_UNAVAILABLE", "the database does not answer", {
  away: true,
  advice: "start it",
});
const full = new WritError("STORE_UNAVAILABLE", "the disk of the database is full", { full: true });
const noRoom = new WritError("OUTPUT_UNAVAILABLE", "the output cannot be written", { reason: "ENOSPC" });

test("an error has a line with its level, its sentence and its fields", () => {
  const { lines, outage, failures } = setUp();
  const error = new Error("any");
  failures.error(error, "a round failed");
  failures.warn(error, "a stream ended", { job_id: "j" });
  expect(lines).toEqual([
    { level: "error", message: "a round failed", fields: { err: error } },
    { level: "warn", message: "a stream ended", fields: { err: error, job_id: "j" } },
  ]);
  expect([outage.isOn, outage.isDiskFull, outage.isStorageFull]).toEqual([false, false, false]);
});

test("two lines stand for all errors and refused calls of an outage", async () => {
  const { lines, told, clock, outage, failures } = setUp();
  expect(outage.refused()).toBe(false);
  for (let round = 0; round < 10; round++) failures.error(away, "a round failed");
  expect(outage.isOn).toBe(true);
  for (let call = 0; call < 3; call++) expect(outage.refused()).toBe(true);
  outage.answered();
  // Calls that were under way may still fail.
  expect(outage.isOn).toBe(true);
  await clock.pass(1_000);
  outage.answered();
  expect(outage.isOn).toBe(false);
  expect(lines).toEqual([
    {
      level: "error",
      message: "the database is away; calls are refused until it is back",
      fields: { err: away, details: { advice: "start it" } },
    },
    {
      level: "warn",
      message: "the database is back after 1 s; calls are answered again",
      fields: { refused_calls: 3 },
    },
  ]);
  expect(told).toEqual([
    "the database is away; calls are refused until it is back; start it",
    "the database is back after 1 s; calls are answered again",
  ]);
});

test.each([
  ["of the database", full, "isDiskFull"],
  ["for outputs and files", noRoom, "isStorageFull"],
] as const)(
  "a full disk %s is known for 30 seconds after the last error, each of which has its line",
  async (_, error, state) => {
    const { lines, clock, outage, failures } = setUp();
    failures.error(error, "output could not be synced");
    await clock.pass(20_000);
    failures.error(error, "output could not be synced");
    await clock.pass(29_999);
    expect(outage[state]).toBe(true);
    await clock.pass(1);
    outage.answered();
    expect(outage[state]).toBe(false);
    expect(lines.map(({ message }) => message)).toEqual([
      "output could not be synced",
      "output could not be synced",
    ]);
  },
);

test("health reports a full disk that an error has shown, and ignores the fields of log lines", async () => {
  const hub = await startMemoryHub(stillEnv);
  onTestFinished(() => hub.stop());
  const { logger, outage } = hub.deps;
  for (const { details } of [away, full, noRoom])
    logger.error({ err: { details }, details, status: 503 }, "a line with the fields of an error");
  expect([outage.isOn, outage.isDiskFull, outage.isStorageFull]).toEqual([false, false, false]);
  expect((await hub.call("GET", "//healthz")).status).toBe(200);

  errorReply(full, "request", hub.deps);
  const { status, text } = await hub.call("GET", "//healthz");
  expect([status, JSON.parse(text)]).toEqual([
    503,
    expect.objectContaining({ code: "STORE_UNAVAILABLE", reason: expect.stringContaining("is full") }),
  ]);
});

test("calls that an outage refuses are counted, although the log has no lines for calls", async () => {
  const hub = await startMemoryHub(stillEnv);
  onTestFinished(() => hub.stop());
  const { lines, clock, logger, outage } = setUp();
  const isLevelEnabled = () => false;
  const deps = { ...hub.deps, outage, logger: { ...logger, isLevelEnabled } } as never;
  const exchange = { route: null, identity: null, path: "/any", incoming: {} } as never;
  logCall(deps, exchange, 503);
  outage.noticed(away);
  logCall(deps, exchange, 503);
  logCall(deps, exchange, 200);
  await clock.pass(1_000);
  outage.answered();
  expect(lines.at(-1)?.fields).toEqual({ refused_calls: 1 });
});
