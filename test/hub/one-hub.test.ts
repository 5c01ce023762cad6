import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { editRows } from "../support/database.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { completedJob, jobReader, submitJob } from "../support/jobs.ts";

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-one-hub-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("A10: a second hub on the same database is refused with the home of the first, also by a link", async () => {
  const first = await startTestHub(stillEnv);
  onTestFinished(() => first.stop());
  const path = join(first.home, "writ.sqlite");
  const link = join(folder(), "link.sqlite");
  symlinkSync(path, link);
  for (const named of [path, link]) {
    const sameKeys: Record<string, string> = { WRIT_KEYS_DIR: join(first.home, "keys") };
    for (const keys of [{}, sameKeys]) {
      const second = startTestHub({ ...stillEnv, SQLITE_PATH: named, ...keys }, { home: folder() });
      await expect(second).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining(`home ${first.home}, process ${process.pid}`),
      });
    }
  }
  expect(await submitJob(first)).toMatchObject({ id: expect.any(String) });
});

test("A10: a hub with other keys is refused, and the jobs stay as they are", async () => {
  const first = await startTestHub(stillEnv);
  onTestFinished(() => rmSync(first.home, { recursive: true, force: true }));
  const { id } = await completedJob(first);
  await first.stop({ keepHome: true });
  const env = { ...stillEnv, SQLITE_PATH: join(first.home, "writ.sqlite") };
  const otherKeys = { code: "KEY_REJECTED", message: expect.stringContaining("a hub with other keys") };
  await expect(startTestHub(env, { home: folder() })).rejects.toMatchObject(otherKeys);
  // A database of an earlier version has no check value, only documents.
  editRows(first.home, "DELETE FROM database_identity");
  rmSync(join(first.home, "database.json"));
  await expect(startTestHub(env, { home: folder() })).rejects.toMatchObject(otherKeys);
  const again = await startTestHub(stillEnv, { home: first.home });
  expect(await jobReader(again)(id)).toMatchObject({ status: "completed" });
  await again.stop();
});

test("A10: hubs with databases of their own may share keys, and a stopped hub leaves no lock", async () => {
  const keys = { WRIT_KEYS_DIR: join(folder(), "keys") };
  const first = await startTestHub({ ...stillEnv, ...keys });
  const second = await startTestHub({ ...stillEnv, ...keys });
  await second.stop();
  await first.stop({ keepHome: true });
  const again = await startTestHub({ ...stillEnv, ...keys }, { home: first.home });
  await again.stop();
});
