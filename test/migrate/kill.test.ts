import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runMigrate } from "./stage.ts";

const program = join(import.meta.dirname, "../../bin/writ");
/** More than three pages of rows. */
const jobCount = 7_000;

type Line = { phase?: string; part?: string; done: number | true; total?: number };

describe.skipIf(noPostgres !== undefined)(
  `a migration that is killed${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off"] });
    });
    afterAll(() => cluster.stop());

    /** Runs it in a process of its own and kills that at the given line. Returns what it printed. */
    async function run(home: string, url: string, isEnd: (line: Line) => boolean): Promise<Line[]> {
      const args = ["migrate", "--home", home, "--to", "postgres:", "--json"];
      const child = spawn(program, args, {
        stdio: ["ignore", "pipe", "inherit"],
        env: { PATH: process.env["PATH"], WRIT_DATABASE_URL: url },
      });
      const exited = new Promise((resolve) => child.once("exit", resolve));
      const lines: Line[] = [];
      for await (const text of createInterface({ input: child.stdout })) {
        const line = JSON.parse(text) as Line;
        lines.push(line);
        if (isEnd(line)) child.kill("SIGKILL");
      }
      await exited;
      return lines;
    }

    async function homeWithJobs(): Promise<{ home: string; last: string }> {
      const hub = await startTestHub(stillEnv);
      onTestFinished(() => rmSync(hub.home, { recursive: true, force: true }));
      let last = "";
      for (let left = jobCount; left > 0; left -= 500) {
        const one = { type: "many", run: { kind: "exec", argv: ["true"] } };
        const body = { jobs: Array.from({ length: Math.min(500, left) }, () => one) };
        const answer = await hub.must("POST", "/jobs/batch", { token: hub.admin, body });
        last = answer.json<{ jobs: { id: string }[] }>().jobs.at(-1)!.id;
      }
      await hub.stop({ keepHome: true });
      return { home: hub.home, last };
    }

    test("continues where it was, doubles nothing, and no hub takes either end before", async () => {
      const { home, last } = await homeWithJobs();
      const url = cluster.url("postgres");
      const first = await run(home, url, ({ part }) => part === "tokens");
      expect(first.at(-1)).toMatchObject({ phase: "copy", part: "tokens" });
      await expect(startTestHub(stillEnv, { home })).rejects.toThrow("is being moved to postgres://");
      const half = startTestHub({ ...stillEnv, WRIT_DATABASE_URL: url }, { home });
      await expect(half).rejects.toThrow("that has not finished");

      const second = await run(home, url, ({ part }) => part === "events");
      expect(second[0]!.done).toBeGreaterThan(first.at(-1)!.done as number);
      const third = await run(home, url, ({ part }) => part === "jobs");
      expect(third[0]!.done).toBeGreaterThan(second.at(-1)!.done as number);
      const fourth = await run(home, url, ({ phase }) => phase === "verify");
      expect(fourth.at(-1)).toMatchObject({ phase: "verify", part: "queues" });
      const fifth = await run(home, url, () => false);
      expect(fifth.some(({ phase }) => phase === "copy")).toBe(false);
      expect(fifth.at(-1)).toMatchObject({ done: true });

      const hub = await startTestHub({ ...stillEnv, WRIT_DATABASE_URL: url }, { home });
      onTestFinished(() => hub.stop({ keepHome: true }));
      const token = hub.admin;
      expect((await hub.must("GET", `/jobs/${last}`, { token })).json()).toMatchObject({ status: "pending" });
      const [queue] = (await hub.must("GET", "/queues", { token })).json<{ pending: number }[]>();
      expect(queue).toMatchObject({ pending: jobCount });
    });

    test("that had only the source's last mark to write writes it", async () => {
      const hub = await startTestHub(stillEnv);
      onTestFinished(() => rmSync(hub.home, { recursive: true, force: true }));
      await hub.stop({ keepHome: true });
      const { home } = hub;
      await withClient(cluster.url("postgres"), (client) => client.query("CREATE DATABASE lastmark"));
      const url = cluster.url("lastmark");
      await runMigrate(home, ["--to-env", "TO"], { TO: url });
      const database = new DatabaseSync(join(home, "writ.sqlite"));
      database.exec("UPDATE database_move SET ended_at = NULL");
      database.close();
      const { code, stdout } = await runMigrate(home, ["--to-env", "TO"], { TO: url });
      expect([code, stdout]).toEqual([0, expect.stringContaining("was moved to")]);
      await expect(startTestHub(stillEnv, { home })).rejects.toThrow("was moved to");
    });
  },
);
