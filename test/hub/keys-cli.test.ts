import { expect, test } from "vitest";
import { stillEnv } from "../support/hub.ts";
import { registerWorker } from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForEach } from "../support/use-hub.ts";
import { activeKey } from "../support/worker.ts";

const hub = hubForEach(stillEnv);

function writ(...args: string[]): Promise<CliRun> {
  return runCli("writ", args, { env: { WRIT_HOME: hub.home } });
}

test("after an emergency, workers without the new key are a problem until they have it", async () => {
  const old = activeKey(hub).keyId;
  const id = await registerWorker(hub, { key_ids: [old] });
  const other = await registerWorker(hub);
  expect(await writ("doctor")).toMatchObject({ code: 0 });

  const rotated = await writ("keys", "rotate", "--emergency");
  expect(rotated).toMatchObject({ code: 0, stderr: "" });
  expect(rotated.stdout).toMatch(
    /^[0-9a-f]{16} is the new signing key\n.*npm start.*gets it by itself\n.*writ workers add ID/s,
  );
  const doctor = await writ("doctor");
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^ok +workers +2 of 2 active$/m);
  expect(doctor.stdout).toMatch(
    new RegExp(`^problem +workers +.* trust none of the hub's keys: ${id}; .*writ workers add ID$`, "m"),
  );
  expect(doctor.stdout).not.toContain(other);

  await registerWorker(hub, { worker_id: id, key_ids: [activeKey(hub).keyId] });
  expect(await writ("doctor")).toMatchObject({ code: 0 });
});

test("a rotation that leaves workers time to switch asks for nothing", async () => {
  await registerWorker(hub, { key_ids: [activeKey(hub).keyId] });
  for (const args of [[], ["--emergency", "--notice", "1h"]]) {
    const { stdout } = await writ("keys", "rotate", ...args);
    expect(stdout).toMatch(/^[0-9a-f]{16} is the new signing key\n$/);
  }
  expect(await writ("doctor")).toMatchObject({ code: 0 });
});
