import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { cageTest, obstacle } from "./cage-stage.ts";

/** Four times what the worker may grow by. */
const outputBytes = 256 * 1024 ** 2;
const growthBytesMax = 64 * 1024 ** 2;
const hub = new HubProcess({ WRIT_LOG_LEVEL: "warn" });
const worker = new WorkerProcess(hub, "spout");
let writ: Writ;

beforeAll(async () => {
  if (obstacle !== null) return;
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  await worker.enrol();
  worker.start();
});
afterAll(async () => {
  writ?.close();
  await worker.remove();
  await hub.remove();
});

cageTest(
  "256 MiB of random output cost the worker at most 64 MiB, and every byte arrives",
  async () => {
    await runScript("echo warm");
    const before = memoryBytes("VmRSS");
    // Starts the count of the peak anew.
    writeFileSync(`/proc/${worker.pid}/clear_refs`, "5");

    const spout = `mkfifo sum; sha256sum < sum >&2 & head -c ${outputBytes} /dev/urandom | tee sum; wait`;
    const id = await runScript(spout);

    expect(memoryBytes("VmHWM") - before).toBeLessThanOrEqual(growthBytesMax);
    const said = createHash("sha256");
    let bytes = 0;
    for await (const chunk of writ.streamOutput(id, { follow: false })) {
      said.update(chunk);
      bytes += chunk.length;
    }
    expect(bytes).toBe(outputBytes);
    const [sum] = (await textOf(writ.streamOutput(id, { stream: "stderr", follow: false }))).split(" ");
    expect(said.digest("hex")).toBe(sum);
  },
  { timeoutMs: 15 * 60_000 },
);

async function runScript(script: string): Promise<string> {
  const run = { kind: "exec" as const, argv: ["sh", "-c", script] };
  // That much takes a busy machine longer than the five minutes that a job has by default.
  const { id } = await writ.submit({ type: "spout", run, timeout_sec: 3600 });
  expect(await writ.wait(id)).toMatchObject({ status: "completed", attempt: 1 });
  return id;
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString();
}

function memoryBytes(name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${worker.pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)![1]) * 1024;
}
