import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

// An emulated machine with systemd, in which the package is installed as services (scripts/service-vm).
test("O-11 services come back by themselves after kill -9, a power cut and an upgrade, with everything that they had", ({
  skip,
}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "scripts/service-vm/run.mjs")], {
    encoding: "utf8",
  });
  if (status === 77) return skip(stderr.trim().split("\n").at(-1));
  process.stdout.write(stdout);
  expect(stderr).not.toMatch(/^Error/m);
  expect(stdout).not.toContain("FAILED");
  expect(stdout).toMatch(/ok `jobctl run` runs a job after the upgrade\nend\n$/);
});
