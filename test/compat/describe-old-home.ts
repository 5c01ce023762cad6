import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WorkerView } from "../../src/contract/shapes/worker-view.ts";
import { verifyAudit, verifySeals } from "../../src/hub/admin.ts";
import { readFileForm } from "../../src/store/sqlite/forms/file-form.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { claimJob, type HeldJob } from "../support/jobs.ts";
import { clockAfter } from "./clock-after.ts";
import type { OldHome } from "./old-home.ts";

/** What a home of an older version must still be good for, wherever its database is. `env` names that, if it is no file. */
export function describeOldHome(open: () => Promise<{ old: OldHome; env: Record<string, string> }>): void {
  let old: OldHome;
  let env: Record<string, string>;
  let hub: TestHub;

  beforeAll(async () => {
    ({ old, env } = await open());
    hub = await startTestHub({ ...stillEnv, ...env }, { home: old.home, clock: clockAfter(old.made) });
  });
  afterAll(async () => {
    await hub?.stop();
    old?.remove();
  });

  const idOf = (name: string): string => old.made.jobs[name]!.id;
  const read = async (name: string): Promise<JobView> =>
    (await hub.must("GET", `/jobs/${idOf(name)}`, { token: hub.admin })).json<JobView>();
  const stdoutOf = async (name: string): Promise<string> =>
    (await hub.must("GET", `/jobs/${idOf(name)}/output/stdout`, { token: hub.admin })).text;

  async function finish({ id, fence }: Pick<HeldJob, "id" | "fence">): Promise<void> {
    const body = { ...fence, result: { late: true } };
    await hub.must("POST", `/jobs/${id}/result`, { token: old.made.tokens.worker, body });
  }

  test("has every job as it was", async () => {
    const { shown } = old.made;
    const jobs = (await hub.must("GET", "/jobs?limit=100", { token: hub.admin })).json<{ id: string }[]>();
    expect(jobs.map(({ id }) => id).sort()).toEqual(
      Object.values(shown)
        .map(({ id }) => id)
        .sort(),
    );
    for (const [name, before] of Object.entries(shown)) {
      const { status, type, attempt, attempts, result, exit_code, fail_code, document_sha256 } = before;
      const same = { status, type, attempt, attempts, result, exit_code, fail_code, document_sha256 };
      expect(await read(name), name).toMatchObject(JSON.parse(JSON.stringify(same)));
    }
  });

  test("has the output, and the tokens and workers can be used", async () => {
    expect(await stdoutOf("completed")).toBe("first line of completed\n");
    const { user } = old.made.tokens;
    const mine = await hub.must("GET", `/jobs/${idOf("completed")}`, { token: user });
    expect(mine.json<JobView>()).toMatchObject({ status: "completed", result: { answer: 42 } });
    const workers = (await hub.must("GET", "/workers", { token: hub.admin })).json<WorkerView[]>();
    expect(workers.find(({ id }) => id === "by-hand")).toMatchObject({ cores: 4, tags: ["gpu"] });
  });

  test("accepts the end of an attempt that was assigned or running before the upgrade", async () => {
    for (const name of ["assigned", "running"]) {
      const { id, lease } = old.made.jobs[name]!;
      await finish({ id, fence: lease! });
      expect(await read(name)).toMatchObject({ status: "completed", attempt: 1, result: { late: true } });
    }
    expect(await stdoutOf("running")).toBe("first line of running\n");
  });

  test("gives out what waited: its seal holds", async () => {
    for (const name of ["pending", "picky"]) {
      const held = await claimJob(hub, { workerId: "by-hand", type: name });
      expect(held.id).toBe(idOf(name));
      await finish(held);
      expect(await read(name)).toMatchObject({ status: "completed" });
    }
  });

  test("tries again what had failed, was quarantined or cancelled", async () => {
    for (const name of ["failed", "quarantined", "cancelled"]) {
      await hub.must("POST", `/jobs/${idOf(name)}/retry`, { token: hub.admin });
      await finish(await claimJob(hub, { workerId: "by-hand", type: name }));
      expect(await read(name)).toMatchObject({ status: "completed" });
    }
  });

  test("takes a new job", async () => {
    const body = { type: "new", run: { kind: "exec", argv: ["true"] } };
    const token = old.made.tokens.user;
    const { id } = (await hub.must("POST", "/jobs", { token, body })).json<{ id: string }>();
    await finish(await claimJob(hub, { workerId: "by-hand", type: "new" }));
    const job = (await hub.must("GET", `/jobs/${id}`, { token })).json<JobView>();
    expect(job).toMatchObject({ status: "completed" });
  });

  test("has an audit trail that holds, before and after", async () => {
    await hub.stop({ keepHome: true });
    const file = join(old.home, "writ.sqlite");
    if (existsSync(file)) expect(readFileForm(file)).toBe("frames");
    const verdict = await verifyAudit({ home: old.home, env });
    expect(verdict).toMatchObject({ faults: [], unsealed: 0, unchecked: [] });
    expect(verdict.records).toBeGreaterThan(Object.keys(old.made.jobs).length);
  });

  test("has a seal on every document that holds", async () => {
    const { checked, broken, contradicted, refused } = await verifySeals({ home: old.home, env });
    expect([broken, contradicted, refused]).toEqual([[], [], 0]);
    expect(checked).toBeGreaterThan(Object.keys(old.made.jobs).length);
  });
}
