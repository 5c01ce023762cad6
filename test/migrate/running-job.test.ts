import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { verifyAudit } from "../../src/hub/admin.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { noPostgres, PostgresCluster } from "../support/postgres-cluster.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { runMigrate } from "./stage.ts";

/** Prints a line each 50 ms until the file `enough` is there, and last how many it were. */
const counting =
  "i=0; while [ ! -e enough ] && [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; echo last $i";

describe.skipIf(noPostgres !== undefined)(
  `a job that runs while its hub's database is moved${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    const env: Record<string, string> = { WRIT_LEASE_MS: "60000", WRIT_LOG_LEVEL: "warn" };
    const hub = new HubProcess(env);
    const worker = new WorkerProcess(hub, "moving-worker", { WORKER_SLOTS: "2" });
    let cluster: PostgresCluster;
    let writ: Writ;

    beforeAll(async () => {
      cluster = await PostgresCluster.start();
      await hub.start();
      writ = new Writ({ url: hub.url, token: hub.token });
      await worker.enrol();
      worker.start();
    });
    afterAll(async () => {
      writ?.close();
      await worker.remove();
      await hub.remove();
      await cluster?.stop();
    });

    async function move(to: string, url: string): Promise<void> {
      await hub.kill("SIGTERM");
      const { code, stderr } = await runMigrate(hub.home, ["--to", to], { WRIT_DATABASE_URL: url });
      expect([code, stderr]).toEqual([0, ""]);
      if (to === "postgres:") env["WRIT_DATABASE_URL"] = url;
      else delete env["WRIT_DATABASE_URL"];
      await hub.start();
    }

    test("ends once, at its first attempt, with every byte of its output: there and back", async () => {
      const url = cluster.url("postgres");
      const { id } = await writ.submit({
        type: "count",
        run: { kind: "exec", argv: ["sh", "-c", counting] },
      });
      const grows = async (): Promise<void> => {
        const before = await writ.get(id).then(({ output }) => output.stdout);
        await eventually("its output grows", async () => (await writ.get(id)).output.stdout > before);
      };
      await eventually("it runs", async () => (await writ.get(id)).status === "running");
      await grows();
      await move("postgres:", url);
      await grows();
      renameSync(join(hub.home, "writ.sqlite"), join(hub.home, "moved.sqlite"));
      await move("sqlite:", url);
      await grows();

      writeFileSync(join(worker.home, "work", "folders", `${id}.1`, "enough"), "");
      const job = await writ.wait(id, { timeoutMs: 120_000 });
      expect(job).toMatchObject({ status: "completed", attempt: 1, attempts: 1, fail_history: [] });
      let text = "";
      for await (const chunk of writ.streamOutput(id, { follow: false }))
        text += Buffer.from(chunk).toString();
      const count = Number(/last (\d+)\n$/.exec(text)?.[1]);
      const lines = Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("");
      expect(text).toBe(`${lines}last ${count}\n`);
      const headers = { authorization: `Bearer ${hub.token}` };
      const timeline = await fetch(`${hub.url}/api/v1/jobs/${id}/events`, { headers });
      expect((await timeline.text()).match(/"JOB_COMPLETED"/g)).toHaveLength(1);
      const { faults } = await verifyAudit({ home: hub.home, env: {} });
      expect(faults).toEqual([]);
    });
  },
);
