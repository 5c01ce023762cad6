import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const jobctl = join(import.meta.dirname, "../../bin/jobctl");
/** A hub that is slow to come back must not cost a lease: this is about restarts, not about how long they take. */
const hub = new HubProcess({
  WRIT_LEASE_MS: "60000",
  WRIT_REAPER_INTERVAL_MS: "200",
  WRIT_LOG_LEVEL: "warn",
});
const worker = new WorkerProcess(hub, "jobctl-worker", { WORKER_SLOTS: "4" });

beforeAll(async () => {
  await hub.start();
  await worker.enrol();
  worker.start();
});
afterAll(async () => {
  await worker.remove();
  await hub.remove();
});

/** About 12 MB, of which every line is different, in about four seconds. */
const telling =
  "i=0; while [ $i -lt 40 ]; do i=$((i+1)); seq $((i*50000)) $((i*50000+40000)); sleep 0.1; done";

describe("a hub that restarts while jobctl streams", () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`costs it no byte and gives it none twice (${signal}, twice)`, async () => {
      const child = spawn(jobctl, ["run", "--", "sh", "-c", telling], {
        env: { PATH: process.env["PATH"], WRIT_HOME: hub.home },
      });
      const hash = createHash("sha256");
      let size = 0;
      let errors = "";
      child.stdout.on("data", (data: Buffer) => {
        hash.update(data);
        size += data.length;
      });
      child.stderr.on("data", (text) => {
        errors += text;
      });
      const exited = once(child, "close");
      for (let round = 0; round < 2; round++) {
        const before = size;
        await eventually("output flows", () => size > before || child.exitCode !== null);
        await hub.kill(signal);
        await hub.start();
      }
      expect([await exited, errors]).toEqual([[0, null], ""]);
      expect({ size, sha256: hash.digest("hex") }).toEqual(told());
    });
  }
});

/** What the command prints, made here. */
function told(): { size: number; sha256: string } {
  const lines: string[] = [];
  for (let i = 1; i <= 40; i++) for (let n = i * 50_000; n <= i * 50_000 + 40_000; n++) lines.push(`${n}\n`);
  const text = lines.join("");
  return { size: text.length, sha256: createHash("sha256").update(text).digest("hex") };
}
