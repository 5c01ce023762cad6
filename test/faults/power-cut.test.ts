import { createHash } from "node:crypto";
import { existsSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { outputPath } from "../../src/output/folder/output-path.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { startTestWorker } from "../support/worker.ts";

/** Long leases: this is about the output, not about how long a machine takes to come back. */
const hub = new HubProcess({ WRIT_LEASE_MS: "60000", WRIT_BACKOFF_SCALE: "0", WRIT_LOG_LEVEL: "warn" });
const MiB = 1024 ** 2;
let writ: Writ;

beforeAll(async () => {
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
});
afterAll(async () => {
  writ.close();
  await hub.remove();
});

const script = (exitCode: number) =>
  `head -c ${MiB} /dev/zero | tr '\\0' a; head -c 300000 /dev/zero | tr '\\0' b >&2; exit ${exitCode}`;

test.each([
  ["completed", 0],
  ["failed", 3],
])(
  "a power cut of the hub between the last chunk and the end of a job that has %s loses no output",
  async (status, exitCode) => {
    const type = `speaks-${exitCode}`;
    const id = crypto.randomUUID();
    let cuts = 0;
    const worker = await startTestWorker(
      { url: hub.url, home: hub.home, admin: hub.token },
      {
        types: [type],
        // The hub has answered for every byte, and the end is about to be told.
        failpoint: async (name) => {
          if (name !== "worker.beforeReport" || cuts++ > 0) return;
          await hub.kill("SIGKILL");
          loseUnsynced(id);
          await hub.start();
        },
      },
    );
    onTestFinished(() => worker.stop());
    const run = { kind: "exec" as const, argv: ["/bin/sh", "-c", script(exitCode)] };
    await writ.submit({ job_id: id, type, max_attempts: 1, run });

    const job = await writ.wait(id, { timeoutMs: 120_000 });
    expect(cuts).toBe(1);
    expect(job).toMatchObject({ status, exit_code: exitCode, attempt: 1, attempts: 1 });
    const stdout = await everything(id, "stdout");
    const stderr = await everything(id, "stderr");
    expect(stdout.equals(Buffer.alloc(MiB, "a"))).toBe(true);
    expect(stderr.equals(Buffer.alloc(300_000, "b"))).toBe(true);
    const { receipt } = await writ.receipt(id);
    expect(JSON.parse(receipt)).toMatchObject({
      stdout_sha256: sha256(stdout),
      stderr_sha256: sha256(stderr),
    });
    await eventually("the worker's copy is gone", () => !existsSync(join(worker.home, "work", "jobs", id)));
  },
);

/** What a cut does to files that were written and not synced: one is short, of the other not even the name is left. */
function loseUnsynced(jobId: string): void {
  const file = (stream: "stdout" | "stderr") => outputPath(join(hub.home, "outputs"), jobId, 1, stream);
  expect(statSync(file("stdout")).size).toBe(MiB);
  expect(statSync(file("stderr")).size).toBe(300_000);
  truncateSync(file("stdout"), 100_001);
  rmSync(file("stderr"));
}

async function everything(id: string, stream: "stdout" | "stderr"): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(writ.streamOutput(id, { stream, follow: false })));
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
