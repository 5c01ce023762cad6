import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../runtime/clock/clock.ts";
import { silentLogger } from "../../runtime/log/logger.ts";
import { loadWorkerSettings } from "../settings.ts";
import { openSandbox } from "./open-sandbox.ts";

const isRoot = process.getuid?.() === 0;
const notRoot = isRoot ? "" : " (not capable: needs root)";

async function open(isolation: "none" | "best-effort", uid: number) {
  const home = mkdtempSync(join(tmpdir(), "writ-open-sandbox-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { HUB_URL: "http://127.0.0.1:1", WRIT_TOKEN: "sk_worker_x", WRIT_WORK_DIR: home };
  const loaded = await loadWorkerSettings({ env, home, hostName: "host" });
  const settings = { ...loaded, execution: { ...loaded.execution, isolation } };
  const opened = await openSandbox({
    settings,
    logger: silentLogger,
    clock: systemClock,
    mayMove: false,
    uid,
  });
  onTestFinished(() => opened.sandbox.close());
  return opened;
}

test("C7: the start of a worker without a cage and without root warns that jobs run as the user", async () => {
  const { warnings } = await open("none", 1000);
  expect(warnings).toEqual([
    "isolation is none: jobs run without a cage",
    expect.stringMatching(
      /^this worker is not root: jobs run as you \(\S+\), and can read and change what you can$/,
    ),
  ]);
});

test.runIf(isRoot)(
  `C7: the start of a root worker names missing parts of the cage once${notRoot}`,
  async () => {
    const { sandbox, warnings } = await open("best-effort", 0);
    const { missing } = await sandbox.probe({
      limits: { cpuMillis: 1, memoryBytes: 1, ioBytesPerSec: 1, pidsMax: 1, network: "none" },
      asked: [],
    });
    const parts = missing.map(({ part }) => part);
    const lacks = parts.length === 0 ? [] : [expect.stringContaining(parts.join(", "))];
    expect(warnings).toEqual(lacks);
  },
);
