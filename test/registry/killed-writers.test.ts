import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { list, listLogs, readLog } from "../../src/registry/index.ts";
import { emptyDirectory, registryUser } from "./registry-process.ts";

const rounds = 12;

test("two writers that are killed at random leave a registry that has everything they were told", async () => {
  const cwd = emptyDirectory();
  const promised = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    await Promise.all([writeAndDie(cwd, promised), writeAndDie(cwd, promised)]);
    const jobs = await list({ cwd });
    const byId = new Map(jobs.map((job) => [job.job_id, job]));
    for (const [id, status] of promised) {
      if (status === "completed") expect(byId.get(id)?.status).toBe("completed");
      else expect(byId.has(id)).toBe(true);
    }
  }
  expect(promised.size).toBeGreaterThanOrEqual(rounds);
  const database = new DatabaseSync(join(cwd, ".writ/jobs/registry.sqlite"), { readOnly: true });
  expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  database.close();
  for (const { job_id: id } of await listLogs({ cwd })) {
    for (const { event } of await readLog({ cwd }, id))
      expect(event).toMatch(/^registered$|^status_changed$/);
  }
});

/** Kills a writer in the middle of whatever it does, a random while after its first job. */
async function writeAndDie(cwd: string, promised: Map<string, string>): Promise<void> {
  const child = registryUser(cwd, "change");
  const exited = once(child, "close");
  let hasBegun = false;
  for await (const line of createInterface(child.stdout!)) {
    const [status = "", id = ""] = line.split(" ");
    promised.set(id, status);
    if (!hasBegun) setTimeout(() => child.kill("SIGKILL"), Math.random() * 200);
    hasBegun = true;
  }
  const [code, signal] = await exited;
  expect([code, signal]).toEqual([null, "SIGKILL"]);
}
