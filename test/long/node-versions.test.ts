import { afterAll, beforeAll } from "vitest";
import { type InstalledPackage, installPackage } from "../package/installed-package.ts";
import { describeNodeVersions, describeTooOldNode } from "../package/node-versions.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";

let installed: InstalledPackage;
let hub: TestHub;
let worker: TestWorker;

beforeAll(async () => {
  installed = installPackage();
  hub = await startTestHub();
  worker = await startTestWorker(hub);
});
afterAll(async () => {
  await worker.stop();
  await hub.stop();
  installed.remove();
});

describeNodeVersions(() => ({ installed, hub, worker }), [20, 22, 24, 26], { isWhole: true });
describeTooOldNode(() => installed);
