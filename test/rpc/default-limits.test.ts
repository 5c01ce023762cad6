import { expect, test } from "vitest";
import { decideIsolation } from "../../src/sandbox/host/decide-isolation.ts";
import { hostFacts } from "../../src/sandbox/host/host-facts.testing.ts";
import { plainSandbox } from "../../src/sandbox/plain/plain-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startedForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";
import { rpcHubForAll, start, stubForAll } from "./rpc-hub.ts";

const hub = rpcHubForAll();
const stub = stubForAll(hub, () => hub.root);

const facts = hostFacts(["cpu", "memory", "io", "pids"]);

/** A strict worker on a host that has no controllers, whatever this one has. */
const withoutControllers: Sandbox = {
  ...plainSandbox,
  level: "strict",
  probe: async (asked) => decideIsolation("strict", facts, asked).isolation,
  async start(plan) {
    const process = await plainSandbox.start(plan);
    return { ...process, isolation: decideIsolation("strict", facts, plan).isolation };
  },
};
startedForAll(() => startTestWorker(hub, { sandbox: withoutControllers }));

test("B4: a plain command runs on a strict worker without controllers, and the limits that it lacks are listed", async () => {
  const job_id = await start(stub);
  const status = await eventually("the command ends", async () => {
    const found = await stub.call<{ state: string; isolation: { missing: { part: string }[] } }>(
      "GetStatus",
      { job_id },
    );
    return found.state === "EXITED" && found;
  });
  expect(status).toMatchObject({ exit_code: 0, isolation: { level: "strict" } });
  expect(status.isolation.missing.map(({ part }) => part)).toEqual(["cpu", "memory", "io", "pids"]);
});

test("B4: a command that asks for a limit is still given back by such a worker", async () => {
  const job_id = await start(stub, { limits: { memory: "64M" } });
  const released = await eventually("the command is given back", () =>
    readEvents(hub.home).find(({ job_id: id, event }) => id === job_id && event === "JOB_RELEASED"),
  );
  expect(released.details["reason"]).toBe("SANDBOX_UNAVAILABLE: memory: no memory");
  await stub.call("StopJob", { job_id });
});
