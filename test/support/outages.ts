import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "./eventually.ts";
import { HubProcess } from "./hub-process.ts";
import { WorkerProcess } from "./worker-process.ts";

const outagesSec = [2, 70, 300];

/** The defaults of all settings that concern an outage, which are scaled together with it. */
const defaultsMs = {
  hub: { WRIT_LEASE_MS: 60_000, WRIT_WORKER_INACTIVE_MS: 120_000, WRIT_REAPER_INTERVAL_MS: 15_000 },
  worker: { JOB_HEARTBEAT_MS: 10_000, WRIT_HUB_AWAY_MS: 600_000 },
};

/** Writes a line each 50 ms, until the file is there that says enough. */
const untilTold =
  "i=0; while [ ! -e enough ] && [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; sleep 0.05; done";

/** A hub that is away for 2, 70 and 300 s, or for a fraction of that with all settings scaled alike. */
export function describeOutages({ scale }: { scale: number }): void {
  const hub = new HubProcess({ ...scaled(defaultsMs.hub, scale), WRIT_LOG_LEVEL: "warn" });
  const worker = new WorkerProcess(hub, "away-worker", {
    ...scaled(defaultsMs.worker, scale),
    WORKER_SLOTS: "2",
  });
  let writ: Writ;
  beforeAll(async () => {
    await hub.start();
    writ = new Writ({ url: hub.url, token: hub.token });
    await worker.enrol();
    worker.start();
  });
  afterAll(async () => {
    writ.close();
    await worker.remove();
    await hub.remove();
  });

  test.each(outagesSec)(
    "B2: a hub that is away for %i s costs a job of one attempt nothing, and no byte is lost",
    async (outageSec) => {
      const outageMs = outageSec * 1000 * scale;
      // Without a time limit: one of 300 s would end the longest.
      const once = { type: "away", max_attempts: 1, timeout_sec: 0 };
      const start = (script: string) =>
        writ.submit({ ...once, run: { kind: "exec", argv: ["sh", "-c", script] } });
      const longer = await start(untilTold);
      // Ends in the middle of the outage, when no client can be told.
      const shorter = await start(
        `echo begin; sleep ${outageMs / 2000}; echo end; echo '{"sum":42}' > $JOB_RESULT_FILE`,
      );
      await eventually("both have written something", async () => {
        const jobs = await Promise.all([writ.get(longer.id), writ.get(shorter.id)]);
        return jobs.every(({ output }) => output.stdout > 0);
      });
      await hub.kill("SIGKILL");
      await pause(outageMs);
      await hub.start();

      const early = await writ.wait(shorter.id, { timeoutMs: 120_000 });
      expect(early).toMatchObject({ ...completedAtOnce, result: { sum: 42 } });
      expect(await outputOf(writ, shorter.id)).toBe("begin\nend\n");
      writeFileSync(join(worker.home, "work", "folders", `${longer.id}.1`, "enough"), "");
      expect(await writ.wait(longer.id, { timeoutMs: 120_000 })).toMatchObject(completedAtOnce);
      const lines = (await outputOf(writ, longer.id)).split("\n").slice(0, -1);
      expect(lines).toEqual(lines.map((_, index) => `line ${index + 1}`));
      // A busy machine writes fewer lines than one that has nothing else to do.
      expect(lines.length).toBeGreaterThan(outageMs / 50 / 10);
    },
  );
}

const completedAtOnce = { status: "completed", attempt: 1, attempts: 1, fail_history: [] };

function scaled(settings: Record<string, number>, scale: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, ms]) => [name, String(Math.round(ms * scale))]),
  );
}

async function outputOf(writ: Writ, id: string): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of writ.streamOutput(id, { follow: false })) parts.push(chunk);
  return Buffer.concat(parts).toString();
}
