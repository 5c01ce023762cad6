import { expect, test } from "vitest";
import { invalidArgument, WritError } from "../../core/errors.ts";
import { warningLogger } from "../../runtime/log/logger.ts";
import type { Registration } from "./hub-calls.ts";
import { registerWithHub } from "./register-with-hub.ts";

const full = { worker_id: "w1", cores: 1, ram_gb: 1, isolation: { level: "strict", missing: [] }, slots: 2 };
const unknown = (path: string) => ({ path, message: "is an unknown field" });

function hubThatRefuses(...errors: WritError[]) {
  const received: Registration[] = [];
  const said: string[] = [];
  const calls = {
    async register(registration: Registration) {
      received.push(registration);
      const error = errors.shift();
      if (error !== undefined) throw error;
    },
  };
  const logger = warningLogger((sentence) => said.push(sentence));
  const register = () =>
    registerWithHub({ calls, logger }, full as Registration, new AbortController().signal);
  return { received, said, register };
}

test("a value that the hub refuses is not left out", async () => {
  const refusal = invalidArgument(unknown("slots"), { path: "cores", message: "must be at least 1" });
  const { received, register } = hubThatRefuses(refusal);
  await expect(register()).rejects.toBe(refusal);
  expect(received).toHaveLength(1);
});

test("any other refusal is passed on", async () => {
  const refusal = new WritError("WORKER_BLOCKED", "worker w1 is blocked");
  await expect(hubThatRefuses(refusal).register()).rejects.toBe(refusal);
});

test("a hub that still refuses is not asked a third time", async () => {
  const { received, register } = hubThatRefuses(
    invalidArgument(unknown("slots")),
    invalidArgument(unknown("isolation")),
  );
  await expect(register()).rejects.toThrow("isolation: is an unknown field");
  expect(received).toHaveLength(2);
});

test("fields that an older hub does not know are left out, once for each registration, with a warning", async () => {
  const { received, said, register } = hubThatRefuses(
    invalidArgument(unknown("slots"), unknown("isolation.level"), unknown("isolation.missing")),
  );
  await register();
  expect(received[1]).toEqual({ worker_id: "w1", cores: 1, ram_gb: 1 });
  expect(said).toEqual(["the hub is older than this worker and does not know slots, isolation"]);
  await register();
  expect(received[2]).toEqual(full);
});
