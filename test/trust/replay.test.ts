import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { signText } from "../../src/signing/ed25519.ts";
import { batchText, type Lease, leaseText } from "../../src/signing/lease.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { claimedJob, claimJob, completedJob, freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { type ClaimAnswer, type Middleman, startMiddleman } from "../support/middleman.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";
import { activeKey, startTestWorker, type TestWorker } from "../support/worker.ts";

const hub = hubForAll(stillEnv);
let middleman: Middleman;
let marks: string;

beforeAll(async () => {
  middleman = await startMiddleman(hub.port);
  marks = mkdtempSync(join(tmpdir(), "writ-marks-"));
});

afterAll(async () => {
  await middleman.stop();
  rmSync(marks, { recursive: true, force: true });
});

beforeEach(() => {
  middleman.onClaim = undefined;
  middleman.claims.length = 0;
});

type Job = { id: string; status: string; attempt: number; attempts: number; worker_id: string | null };

async function readJob(id: string): Promise<Job> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<Job>();
}

function inState(id: string, status: string): Promise<Job> {
  return eventually(`job ${id} to be ${status}`, async () => {
    const job = await readJob(id);
    return job.status === status && job;
  });
}

/** Waits for an event of a job that a worker's refusal has left behind. */
function violation(jobId: string, type: string) {
  return eventually(`a ${type} of job ${jobId}`, () =>
    readEvents(hub.home).find(
      ({ details }) =>
        details["violation_type"] === type && (details["job_ids"] as string[] | undefined)?.includes(jobId),
    ),
  );
}

async function pauseOf(workerId: string): Promise<number | null> {
  const worker = await hub.must("GET", `/workers/${workerId}`, { token: hub.admin });
  return worker.json<{ paused_until: number | null }>().paused_until;
}

async function unpause(workerId: string): Promise<void> {
  await hub.must("POST", `/workers/${workerId}/unblock`, { token: hub.admin, body: {} });
}

/** A job that adds a line to a file each time it runs. */
async function countingJob(type: string) {
  const mark = join(marks, freshName("count"));
  const argv = ["sh", "-c", `echo ran >> ${mark}`];
  return { ...(await submitJob(hub, { type, run: { kind: "exec", argv } })), mark };
}

async function withWorker<T>(
  wish: Parameters<typeof startTestWorker>[1],
  act: (worker: TestWorker) => Promise<T>,
): Promise<T> {
  const worker = await startTestWorker(hub, { url: middleman.url, ...wish });
  try {
    return await act(worker);
  } finally {
    await worker.stop({ keepHome: true });
  }
}

describe("R-01: a completed job that is delivered again, to the byte", () => {
  test("is refused by the worker's ledger, also after a restart, and the job stays completed", async () => {
    const type = freshName("once");
    const wish = { types: [type], workerId: freshName("w"), home: mkdtempSync(join(tmpdir(), "writ-r01-")) };
    const { id, mark } = await countingJob(type);
    const first = await withWorker(wish, async () => {
      const job = await inState(id, "completed");
      expect(job).toMatchObject({ attempt: 1 });
      const [claim] = middleman.claims;
      // Once another job has run, the worker has laid the first one aside for good.
      const { id: other } = await submitJob(hub, { type });
      await inState(other, "completed");
      middleman.onClaim = () => claim;
      await submitJob(hub, { type });
      await violation(id, "REPLAY");
      return claim;
    });
    await unpause(wish.workerId);
    await withWorker(wish, async () => {
      middleman.onClaim = () => first;
      await submitJob(hub, { type });
      await eventually("the replay to be skipped", () => middleman.onClaim === undefined);
      await eventually("the worker to be paused", async () => (await pauseOf(wish.workerId)) !== null);
      await unpause(wish.workerId);
      // The claim after it runs as ever, so the replay before it has been dealt with.
      const { id: next } = await submitJob(hub, { type });
      await inState(next, "completed");
    });
    expect(await readJob(id)).toMatchObject({ status: "completed", attempt: 1 });
    expect(readFileSync(mark, "utf8")).toBe("ran\n");
    rmSync(wish.home, { recursive: true, force: true });
  });
});

describe("R-02: a claim of one worker", () => {
  test("is refused by another worker that it is delivered to, and the first keeps its lease", async () => {
    const mark = join(marks, freshName("stolen"));
    const mine = await registerWorker(hub);
    const stolenType = freshName("mine");
    const { id } = await submitJob(hub, { type: stolenType, run: { kind: "exec", argv: ["touch", mark] } });
    const body = { worker_id: mine, types: [stolenType], max: 1 };
    const stolen = (
      await hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body })
    ).json<ClaimAnswer>();

    const type = freshName("other");
    await withWorker({ types: [type] }, async (worker) => {
      middleman.onClaim = () => stolen;
      await submitJob(hub, { type });
      const { details } = await violation(id, "INVALID_SIGNATURE");
      expect(details).toMatchObject({ worker_id: worker.workerId, jobs: 1, returned: 0 });
    });
    expect(existsSync(mark)).toBe(false);
    expect(await readJob(id)).toMatchObject({ status: "assigned", worker_id: mine, attempt: 1 });
  });
});

describe("idempotency keys", () => {
  const run = { kind: "exec", argv: ["true"] };

  test("R-04: the same key with another body is a mismatch and changes nothing", async () => {
    const key = freshName("key");
    await submitJob(hub, { idempotency_key: key, type: "a" });
    const before = snapshot(hub.home);
    const body = { idempotency_key: key, type: "b", run };
    const answer = await hub.call("POST", "/jobs", { token: hub.admin, body });
    expect(answer).toMatchObject({ status: 409, code: "IDEMPOTENCY_MISMATCH" });
    expect(snapshot(hub.home)).toBe(before);
  });

  test("R-05: the same key twenty times at once makes one job, and everybody is told of it", async () => {
    const body = { idempotency_key: freshName("key"), type: freshName("type"), run };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => hub.call("POST", "/jobs", { token: hub.admin, body })),
    );
    const ids = new Set(answers.map((answer) => answer.json<{ id: string }>().id));
    expect(ids.size).toBe(1);
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
  });

  test("R-06: the same key of another tenant is another job", async () => {
    const body = { idempotency_key: freshName("key"), type: freshName("type"), run };
    const submit = async (tenant_id: string) => {
      const { token } = await issueToken(hub, { role: "user", tenant_id });
      return hub.must("POST", "/jobs", { token, body });
    };
    const [one, other] = [await submit("acme"), await submit("globex")];
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(one.json<Job>().id).not.toBe(other.json<Job>().id);
  });
});

describe("a lease whose time is not now", () => {
  /** Signed by the hub's own key, so that only its times can be wrong. */
  function retimed(times: Pick<Lease, "issued_at_ts" | "expires_at_ts">) {
    return (answer: ClaimAnswer) => {
      const jobs = answer.jobs.map((job) => ({
        ...job,
        lease: leaseText({ ...(JSON.parse(job.lease) as Lease), ...times }),
      }));
      const workerId = (JSON.parse(jobs[0]!.lease) as Lease).worker_id;
      const pairs = jobs.map(({ document, lease }) => ({
        documentSha256: sha256Hex(document),
        leaseText: lease,
      }));
      const key = activeKey(hub);
      return {
        jobs,
        batch: { key_id: key.keyId, signature: signText(key, batchText({ workerId, jobs: pairs })) },
      };
    };
  }

  test.each([
    ["is over", -600, -540],
    ["is still to come", 600, 660],
  ])("does not run when it %s: it is given back without charge", async (_what, from, to) => {
    const type = freshName("late");
    const nowTs = Math.floor(Date.now() / 1000);
    middleman.onClaim = retimed({ issued_at_ts: nowTs + from, expires_at_ts: nowTs + to });
    const { id } = await countingJob(type);
    await withWorker({ types: [type] }, () => inState(id, "completed"));
    const released = readEvents(hub.home).find(
      ({ job_id, event }) => job_id === id && event === "JOB_RELEASED",
    );
    expect(released?.details["reason"]).toMatch(/compare the clocks/);
    expect(await readJob(id)).toMatchObject({ attempt: 2, attempts: 1 });
  });

  test.each([-600_000, 600_000])(
    "F-31: a worker whose clock is off by %i ms says by how much",
    async (offMs) => {
      const short = await startTestHub({ ...stillEnv, WRIT_LEASE_MS: "60000" });
      const type = freshName("skewed");
      const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offMs };
      const { id } = await submitJob(short, { type });
      const worker = await startTestWorker(short, { types: [type], clock });
      const { details } = await eventually("the job to be given back", () =>
        readEvents(short.home).find(({ job_id, event }) => job_id === id && event === "JOB_RELEASED"),
      );
      expect(details["reason"]).toMatch(offMs > 0 ? /ended 5[34]\d s ago/ : /begins in (59\d|600) s/);
      await worker.stop();
      await short.stop();
    },
  );
});

describe("F-21: a worker that slept through its lease", () => {
  test("is told that it is lost, changes nothing, and leaves a note", async () => {
    const held = await claimedJob(hub);
    await hub.must("POST", `/jobs/${held.id}/release`, { token: hub.admin, body: held.fence });
    const other = await registerWorker(hub);
    const second = await claimJob(hub, { workerId: other, type: held.type });
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...second.fence, result: 2 },
    });
    const before = snapshot(hub.home);
    const seq = lastSeq(hub.home);
    const body = { ...held.fence, result: 1 };
    const answer = await hub.call("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    expect(answer).toMatchObject({ status: 409, code: "LEASE_LOST" });
    expect(snapshot(hub.home)).toBe(before);
    expect(readEvents(hub.home, seq)).toMatchObject([
      { event: "STALE_RESULT_REJECTED", details: { act: "result", attempt: 1, current_attempt: 2 } },
    ]);
  });
});

describe("R-08: a job that waits while its hub's key is revoked", () => {
  test("is leased under the new key alone", async () => {
    const { id, type } = await submitJob(hub);
    const old = activeKey(hub).keyId;
    const body = { emergency: true };
    const made = (await hub.must("POST", "/keys/rotate", { token: hub.admin, body })).json<{
      key_id: string;
    }>();
    const workerId = await registerWorker(hub);
    const claim = await hub.must("POST", "/jobs/claim", {
      token: hub.admin,
      body: { worker_id: workerId, types: [type] },
    });
    expect(claim.json()).toMatchObject({ id, key_id: made.key_id });
    expect(claim.text).not.toContain(old);
    const events = readEvents(hub.home).filter(({ event }) => event.startsWith("KEY_"));
    expect(events.slice(-2)).toMatchObject([
      { event: "KEY_ROTATED", details: { key_id: made.key_id, previous_key_id: old, emergency: true } },
      { event: "KEY_REVOKED", details: { key_id: old, leases_void: true } },
    ]);
  });

  test("a worker that knows only the revoked key is given nothing", async () => {
    const { type } = await submitJob(hub);
    const revoked = (await hub.must("GET", "/keys", { token: hub.admin })).json<{
      keys: { key_id: string; status: string }[];
    }>();
    const { key_id } = revoked.keys.find(({ status }) => status === "revoked")!;
    const workerId = await registerWorker(hub, { key_ids: [key_id] });
    const body = { worker_id: workerId, types: [type] };
    expect(await hub.call("POST", "/jobs/claim", { token: hub.admin, body })).toMatchObject({ status: 204 });
    expect(await completedJob(hub)).toBeDefined();
  });
});
