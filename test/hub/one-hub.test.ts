import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { planUpgrade, verifyAudit } from "../../src/hub/admin.ts";
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
  const other = await startTestHub(stillEnv);
  await other.stop({ keepHome: true });
  onTestFinished(() => rmSync(other.home, { recursive: true, force: true }));
  rmSync(join(other.home, "database.json"));
  await expect(startTestHub(env, { home: other.home })).rejects.toMatchObject(otherKeys);
  // Commands say the same, instead of calling the trail forged or the database ready.
  await expect(verifyAudit({ home: other.home, env })).rejects.toMatchObject(otherKeys);
  expect((await planUpgrade({ home: other.home, env })).refusal).toEqual(otherKeys.message);
  // Where there are no keys, none are made: the folder may only not be mounted.
  const [fresh, keys] = [folder(), join(folder(), "keys")];
  const noKeys = { code: "KEY_REJECTED", message: expect.stringContaining(`${keys} has none`) };
  const unmounted = { ...env, WRIT_KEYS_DIR: keys };
  await expect(startTestHub(unmounted, { home: fresh })).rejects.toMatchObject(noKeys);
  expect((await planUpgrade({ home: fresh, env: unmounted })).refusal).toEqual(noKeys.message);
  expect(existsSync(keys)).toBe(false);
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

test("a file of another program is not taken for a damaged database by commands", async () => {
  const hub = await startTestHub(stillEnv);
  await hub.stop({ keepHome: true });
  onTestFinished(() => rmSync(hub.home, { recursive: true, force: true }));
  const path = join(folder(), "other.sqlite");
  const database = new DatabaseSync(path);
  database.exec("CREATE TABLE customers (id)");
  database.close();
  const foreign = { code: "CONFIG_INVALID", message: expect.stringContaining("it holds customers") };
  const call = { home: hub.home, env: { SQLITE_PATH: path } };
  await expect(verifyAudit(call)).rejects.toMatchObject(foreign);
  await expect(planUpgrade(call)).rejects.toMatchObject(foreign);
});

test("keys that are elsewhere are asked for by the name of their setting", async () => {
  const home = folder();
  await expect(verifyAudit({ home, env: {} })).rejects.toMatchObject({
    code: "KEY_REJECTED",
    message: expect.stringMatching(
      /ring\.json is missing; if the keys are in another folder, set WRIT_KEYS_DIR$/,
    ),
  });
});
