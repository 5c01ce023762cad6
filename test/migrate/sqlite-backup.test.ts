import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyAudit, verifySeals } from "../../src/hub/admin.ts";
import { runCli } from "../support/run-cli.ts";
import { folder, fullHome, lookThrough, startIn } from "./stage.ts";

test("the backup of a home, made while its hub runs, is restored with everything in it", async () => {
  const full = await fullHome();
  const dir = folder();
  const passphrase = join(dir, "passphrase");
  writeFileSync(passphrase, "correct horse battery\n", { mode: 0o600 });
  const words = ["--passphrase-file", passphrase, "--json"];
  const hub = await startIn(full);
  const made = await runCli("writ", ["backup", join(dir, "b"), "--home", full.home, ...words], { env: {} });
  const before = await lookThrough(hub);
  await hub.stop({ keepHome: true });
  expect([made.code, made.stderr]).toEqual([0, ""]);
  expect(JSON.parse(made.stdout)).toMatchObject({ faults: [] });

  const home = join(dir, "restored");
  const restored = await runCli("writ", ["restore", join(dir, "b"), "--home", home, ...words], { env: {} });
  expect([restored.code, restored.stderr]).toEqual([0, ""]);
  expect(JSON.parse(restored.stdout)).toMatchObject({ damaged: [], refused: 0 });
  const again = await startIn({ home, sqlite: "" });
  const after = await lookThrough(again);
  await again.stop({ keepHome: true });
  expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
  // Leases were taken back, as after every restore.
  for (const what of ["/tokens", "/lockdown"]) expect(after[what]).toEqual(before[what]);
  expect((await verifyAudit({ home, env: {} })).faults).toEqual([]);
  expect((await verifySeals({ home, env: {} })).broken).toEqual([]);
});
