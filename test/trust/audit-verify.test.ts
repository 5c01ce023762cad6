import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { AuditCheckView } from "../../src/contract/shapes/audit-shapes.ts";
import { verifyAudit } from "../../src/hub/admin.ts";
import { editRows } from "../support/database.ts";
import { editRecord } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { completedJob, submitJob } from "../support/jobs.ts";
import { issueToken } from "../support/tokens.ts";

let whole: string;

/** A home with a few dozen records, stopped cleanly. */
beforeAll(async () => {
  const hub = await startTestHub(stillEnv);
  for (let count = 0; count < 5; count++) await completedJob(hub);
  await hub.call("GET", "/jobs", { token: "sk_user_nobody" });
  await hub.stop({ keepHome: true });
  whole = hub.home;
});
afterAll(() => rmSync(whole, { recursive: true, force: true }));

/** A copy that a test may damage. */
function copyHome(): string {
  const home = mkdtempSync(join(tmpdir(), "writ-audit-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  cpSync(whole, home, { recursive: true, preserveTimestamps: true });
  return home;
}

function tamper(home: string, ...statements: string[]): void {
  for (const statement of statements) editRows(home, statement);
}

const verify = (home: string) => verifyAudit({ home, env: {} });

describe("L-06: the audit trail", () => {
  test("is whole after a clean stop, sealed and signed to its last record", async () => {
    const verdict = await verify(whole);
    expect(verdict).toMatchObject({ faults: [], unsealed: 0, first: 1 });
    expect(verdict.records).toBeGreaterThan(20);
    expect(verdict.signedThrough).toBe(verdict.last);
    expect(statSync(join(whole, "audit-heads.ndjson")).mode & 0o777).toBe(0o600);
  });

  test("shows a signed head that was edited, and a file of heads that is gone", async () => {
    const edited = copyHome();
    tamper(
      edited,
      "UPDATE audit_marks SET hash = iif(hash LIKE '0%', '1', '0') || substr(hash, 2) WHERE audit = 'head'",
    );
    expect((await verify(edited)).faults[0]).toMatchObject({
      what: expect.stringMatching(/no valid signature/),
    });
    const gone = copyHome();
    rmSync(join(gone, "audit-heads.ndjson"));
    expect((await verify(gone)).faults).toMatchObject([
      { what: expect.stringMatching(/are missing in audit-heads/) },
    ]);
  });

  test("is not called cut because the hub goes on, and signs what it adds, while somebody looks", async () => {
    const [home, later] = [copyHome(), copyHome()];
    const hub = await startTestHub(stillEnv, { home: later });
    await completedJob(hub);
    await hub.stop({ keepHome: true });
    const heads = join(home, "audit-heads.ndjson");
    rmSync(heads);
    execFileSync("mkfifo", ["-m", "600", heads]);

    const verdict = verify(home);
    // Comes when the other side has begun to read the heads; only then does the hub of this home go on.
    const pipe = await open(heads, "w");
    renameSync(join(later, "writ.sqlite"), join(home, "writ.sqlite"));
    await pipe.writeFile(readFileSync(join(later, "audit-heads.ndjson")));
    await pipe.close();
    expect((await verdict).faults).toEqual([]);
  });

  test("is not troubled by a line that a crash has left half written", async () => {
    const home = copyHome();
    const path = join(home, "audit-heads.ndjson");
    writeFileSync(path, `${readFileSync(path, "utf8")}{"audit":"he`);
    expect((await verify(home)).faults).toEqual([]);
  });
});

describe("beside a running hub", () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startTestHub(stillEnv);
  });
  afterAll(() => hub.stop());

  test("the trail is whole at every moment, and sealed soon", async () => {
    for (let count = 0; count < 20; count++) {
      await submitJob(hub);
      expect((await verify(hub.home)).faults).toEqual([]);
    }
    await eventually("everything is sealed", async () => {
      const { unsealed, last } = await verify(hub.home);
      return unsealed === 0 && last >= 20;
    });
  });

  test("what is sealed is found by the search, with its hash", async () => {
    const { id } = await submitJob(hub);
    const records = await eventually("the record is sealed", async () => {
      const answer = await hub.must("GET", `/audit?job_id=${id}`, { token: hub.admin });
      const found = answer.json<Record<string, unknown>[]>();
      return found.length > 0 && found;
    });
    expect(records).toMatchObject([
      {
        event: "JOB_CREATED",
        severity: "LOW",
        user_id: "root",
        job_id: id,
        details: { job_id: id },
        context: { endpoint: "/jobs", method: "POST" },
        prev_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ]);
  });
});

describe("a hub that is asked to check its own audit trail", () => {
  const checkIn = async (hub: TestHub): Promise<AuditCheckView> => {
    await hub.must("POST", "/audit/verify", { token: hub.admin });
    let check: AuditCheckView | undefined;
    await eventually("the check is over", async () => {
      check = (await hub.must("GET", "/audit/verify", { token: hub.admin })).json<AuditCheckView>();
      return check.status !== "running";
    });
    return check!;
  };

  test("finds it intact while jobs are submitted, and says so", async () => {
    const hub = await startTestHub(stillEnv);
    onTestFinished(() => hub.stop());
    expect((await hub.must("GET", "/audit/verify", { token: hub.admin })).json()).toMatchObject({
      status: "none",
    });
    for (let count = 0; count < 300; count++) await submitJob(hub);
    const check = await checkIn(hub);
    expect(check).toMatchObject({ status: "done", verdict: { ok: true, faults: [], first: 1 } });
    expect(check.verdict!.records + check.verdict!.unsealed).toBeGreaterThan(300);
  });

  test("names the record that was edited", async () => {
    const home = copyHome();
    await editRecord(home, 7);
    const hub = await startTestHub(stillEnv, { home });
    onTestFinished(() => hub.stop({ keepHome: true }));
    const check = await checkIn(hub);
    expect(check).toMatchObject({ status: "done", verdict: { ok: false } });
    expect(check.verdict!.faults).toContainEqual(expect.objectContaining({ seq: 7 }));
  });

  test("does it for administrators of the hub alone", async () => {
    const hub = await startTestHub(stillEnv);
    onTestFinished(() => hub.stop());
    const { token } = await issueToken(hub, { role: "admin", tenant_id: "acme" });
    for (const method of ["GET", "POST"]) {
      expect(await hub.call(method, "/audit/verify", { token })).toMatchObject({ status: 403 });
    }
  });
});
