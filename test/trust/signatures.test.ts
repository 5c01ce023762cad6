import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/text/json-value.ts";
import { canonicalize } from "../../src/signing/canonical.ts";
import {
  generateSigningKey,
  loadVerifyingKey,
  type SigningKey,
  signText,
} from "../../src/signing/ed25519.ts";
import { batchText, type Lease, leaseText } from "../../src/signing/lease.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { verifyBatch, verifyClaim } from "../../src/signing/verify-claim.ts";
import { verifyClaims } from "../../src/worker/claims/verify-claims.ts";
import { lastSeq, readEvents, snapshot } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, registerWorker, submitJob } from "../support/jobs.ts";
import { type ClaimAnswer, type Middleman, startMiddleman } from "../support/middleman.ts";
import { hubForAll } from "../support/use-hub.ts";
import { activeKey, startTestWorker, type TestWorker } from "../support/worker.ts";

const nowMs = 1_763_200_000_000;
const jobId = "00000000-0000-4000-8000-000000000001";

const hub = hubForAll(stillEnv);
let middleman: Middleman;
let worker: TestWorker;
let marks: string;
const type = freshName("guarded");

beforeAll(async () => {
  middleman = await startMiddleman(hub.port);
  worker = await startTestWorker(hub, { url: middleman.url, types: [type] });
  marks = mkdtempSync(join(tmpdir(), "writ-marks-"));
});

afterAll(async () => {
  await worker.stop();
  await middleman.stop();
  rmSync(marks, { recursive: true, force: true });
});

type Job = {
  status: string;
  fail_code: string | null;
  fail_detail: string | null;
  fail_reason: string | null;
};

async function readJob(id: string): Promise<Job> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<Job>();
}

function ended(id: string): Promise<Job> {
  return eventually(`job ${id} to end`, async () => {
    const job = await readJob(id);
    return ["completed", "failed", "quarantined"].includes(job.status) && job;
  });
}

/** A job that leaves a mark when it runs, delivered as somebody in between has made it. */
async function deliver(alter: (answer: ClaimAnswer) => unknown) {
  const mark = join(marks, freshName("mark"));
  middleman.onClaim = alter;
  const { id } = await submitJob(hub, { type, run: { kind: "exec", argv: ["touch", mark] } });
  const job = await ended(id);
  const events = readEvents(hub.home).filter(({ job_id }) => job_id === id);
  return { id, job, mark, events };
}

type Row = { row: string; what: string; detail: string; alter(answer: ClaimAnswer): unknown };

function withBatch(change: (batch: { key_id: string; signature: string }) => unknown) {
  return (answer: ClaimAnswer) => ({ ...answer, batch: change(answer.batch as never) });
}

function signature(row: string, what: string, change: (signature: string) => unknown): Row {
  return {
    row,
    what,
    detail: "INVALID_SIGNATURE",
    alter: withBatch((batch) => ({ ...batch, signature: change(batch.signature) })),
  };
}

/** Signs a batch as the hub does, after its jobs were changed. */
function resigned(key: () => SigningKey, change: (job: ClaimAnswer["jobs"][number]) => object = () => ({})) {
  return (answer: ClaimAnswer) => {
    const jobs = answer.jobs.map((job) => ({ ...job, ...change(job) }));
    const pairs = jobs.map(({ document, lease }) => ({
      documentSha256: sha256Hex(document),
      leaseText: lease,
    }));
    const text = batchText({ workerId: worker.workerId, jobs: pairs });
    return { jobs, batch: { key_id: key().keyId, signature: signText(key(), text) } };
  };
}

const stranger = generateSigningKey().signingKey;
const encoded = (text: string) => text.slice("base64:".length);
const bytes = (text: string) => Buffer.from(encoded(text), "base64");

/** A document that says the same in other bytes, with a lease that names it: only the form is wrong. */
function inForm(change: (document: string) => string) {
  return resigned(
    () => activeKey(hub),
    (job) => {
      const document = change(job.document);
      const lease = { ...(JSON.parse(job.lease) as Lease), document_sha256: sha256Hex(document) };
      return { document, lease: leaseText(lease) };
    },
  );
}

const refused: Row[] = [
  {
    row: "S-01",
    what: "one bit of the document flipped",
    detail: "INVALID_SIGNATURE",
    alter: (answer) => ({
      ...answer,
      jobs: answer.jobs.map((job) => ({ ...job, document: job.document.replace("touch", "uouch") })),
    }),
  },
  signature("S-02", "no signature", () => undefined),
  signature("S-02", "an empty signature", () => ""),
  signature("S-02", "null as signature", () => null),
  signature("S-02", "a list as signature", (text) => [text]),
  signature("S-02", "nothing behind base64:", () => "base64:"),
  signature("S-02", "base64: twice", (text) => `base64:${text}`),
  signature("S-03", "base64 without its prefix", encoded),
  signature("S-03", "base64url", (text) =>
    `base64:${bytes(text).toString("base64url")}==`.replace("==", "-="),
  ),
  signature("S-03", "no padding", (text) => text.replace(/=+$/, "")),
  signature("S-03", "white space inside", (text) => `${text.slice(0, 50)} ${text.slice(51)}`),
  signature("S-03", "a line break at the end", (text) => `${text}\n`),
  signature("S-03", "bits in the padding", (text) =>
    text.replace(/.==$/, (last) => `${spareBits(last[0]!)}==`),
  ),
  signature("S-03", "63 bytes", (text) => `base64:${bytes(text).subarray(0, 63).toString("base64")}`),
  signature(
    "S-03",
    "65 bytes",
    (text) => `base64:${Buffer.concat([bytes(text), Buffer.alloc(1)]).toString("base64")}`,
  ),
  {
    row: "S-06",
    what: "a right signature by an unknown key",
    detail: "KEY_NOT_TRUSTED",
    alter: resigned(() => stranger),
  },
  {
    row: "S-07",
    what: "the id of the trusted key over another key's signature",
    detail: "INVALID_SIGNATURE",
    alter: (answer) => {
      const forged = resigned(() => stranger)(answer);
      return { ...forged, batch: { ...forged.batch, key_id: activeKey(hub).keyId } };
    },
  },
  {
    row: "S-07",
    what: "an unknown key id",
    detail: "KEY_NOT_TRUSTED",
    alter: withBatch((batch) => ({ ...batch, key_id: "0".repeat(16) })),
  },
  {
    row: "S-07",
    what: "a key id that is a path",
    detail: "KEY_NOT_TRUSTED",
    alter: withBatch((batch) => ({ ...batch, key_id: "../../x" })),
  },
  {
    row: "S-08",
    what: "a duplicate key in a document that the hub itself signed",
    detail: "INVALID_SIGNATURE",
    alter: inForm((document) =>
      document.replace('{"created', '{"allowed_paths":["src/"],"allowed_paths":["/"],"created'),
    ),
  },
  {
    row: "S-09",
    what: "1e400 in a signed document",
    detail: "INVALID_SIGNATURE",
    alter: inForm((document) => document.replace(/"priority":\d+/, '"priority":1e400')),
  },
  {
    row: "S-10",
    what: "a byte order mark before a signed document",
    detail: "INVALID_SIGNATURE",
    alter: inForm((document) => `\ufeff${document}`),
  },
  {
    row: "S-10",
    what: "garbage behind a signed document",
    detail: "INVALID_SIGNATURE",
    alter: inForm((document) => `${document} x`),
  },
  {
    row: "S-10",
    what: "keys of a signed document in another order",
    detail: "INVALID_SIGNATURE",
    alter: inForm(reversed),
  },
];

/** The same six bits with another tail that a lax reader drops. */
function spareBits(letter: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return alphabet[alphabet.indexOf(letter) | 1]!;
}

function reversed(document: string): string {
  const entries = Object.entries(JSON.parse(document) as object).reverse();
  return JSON.stringify(Object.fromEntries(entries));
}

describe("a worker refuses, reports and does not run", () => {
  test.each(refused)("$row: $what", async ({ alter, detail }) => {
    const mark = join(marks, freshName("mark"));
    const seq = lastSeq(hub.home);
    middleman.onClaim = alter;
    const { id } = await submitJob(hub, { type, run: { kind: "exec", argv: ["touch", mark] } });
    const report = await eventually("the report of the worker", () =>
      readEvents(hub.home, seq).find(({ details }) => details["violation_type"] === detail),
    );
    expect(report).toMatchObject({
      event: detail === "INVALID_SIGNATURE" ? detail : "SECURITY_VIOLATION",
      details: { worker_id: worker.workerId, job_ids: [id], returned: 1 },
    });
    expect(existsSync(mark)).toBe(false);
    // Nothing is wrong with the job itself, and the messenger is not punished for the message.
    expect(await readJob(id)).toMatchObject({ status: "pending", attempts: 0, fail_code: null });
    const fleet = await hub.must("GET", `/workers/${worker.workerId}`, { token: hub.admin });
    expect(fleet.json()).toMatchObject({ status: "active", paused_until: expect.any(Number) });
    await hub.must("DELETE", `/jobs/${id}`, { token: hub.admin });
    await hub.must("POST", `/workers/${worker.workerId}/unblock`, { token: hub.admin, body: {} });
  });
});

test("O-10 one altered job of a batch costs none of its jobs anything: they run elsewhere", async () => {
  const seq = lastSeq(hub.home);
  const ran = freshName("ran");
  const delivered: string[] = [];
  middleman.onClaim = (answer) => {
    delivered.push(...answer.jobs.map(({ id }) => id));
    const last = answer.jobs.at(-1)!;
    const altered = { ...last, document: last.document.replace("touch", "uouch") };
    return { ...answer, jobs: answer.jobs.with(-1, altered) };
  };
  const jobs = Array.from({ length: 4 }, (_, index) => {
    return { type, max_attempts: 1, run: { kind: "exec", argv: ["touch", join(marks, `${ran}-${index}`)] } };
  });
  const { jobs: made } = (await hub.must("POST", "/jobs/batch", { token: hub.admin, body: { jobs } })).json<{
    jobs: { id: string }[];
  }>();
  const reports = () => readEvents(hub.home, seq).filter(({ event }) => event === "INVALID_SIGNATURE");
  const report = await eventually("the report of the worker", () => reports()[0]);
  expect(report.details).toMatchObject({
    returned: delivered.length,
    altered_jobs: [delivered.at(-1)],
    unreadable: 0,
  });
  const other = await startTestWorker(hub, { types: [type] });
  for (const { id } of made)
    expect(await ended(id)).toMatchObject({ status: "completed", attempts: 1, worker_id: other.workerId });
  await other.stop();
  expect(reports()).toHaveLength(1);
  await hub.must("POST", `/workers/${worker.workerId}/unblock`, { token: hub.admin, body: {} });
});

describe("S-01: of every byte one bit", () => {
  const key = generateSigningKey().signingKey;
  const verifier = { trusted: [loadVerifyingKey(key.publicKeyPem)], workerId: "w1", nowMs };
  const document = canonicalize({ job_id: jobId, text: "ä🙂" } as JsonValue);
  const lease = leaseText({
    job_id: jobId,
    attempt: 1,
    worker_id: "w1",
    document_sha256: sha256Hex(document),
    timeout_sec: 60,
    issued_at_ts: nowMs / 1000,
    expires_at_ts: nowMs / 1000 + 60,
    token: "token-of-this-lease-0001",
  });
  const text = batchText({
    workerId: "w1",
    jobs: [{ documentSha256: sha256Hex(document), leaseText: lease }],
  });
  const good = { document, lease, signature: signText(key, text) };

  test("as it is, it is accepted", () => {
    expect(accept(good)).toBe(1);
  });

  test.each(["document", "lease", "signature"] as const)("%s", (part) => {
    const bytes = Buffer.from(good[part]);
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1 << (at % 8);
      const changed = flipped.toString("utf8");
      if (changed === good[part]) throw new Error("the flip was lost in decoding");
      expect(accept({ ...good, [part]: changed }), `byte ${at}`).toBe(0);
    }
  });

  function accept(claim: typeof good): number {
    const { signature, ...job } = claim;
    const batch = { jobs: [{ id: jobId, ...job }], batch: { key_id: key.keyId, signature } };
    return verifyClaims(verifier, batch).accepted.length;
  }

  test("S-07: of ten thousand signatures at most four are looked at", () => {
    const tally = { verifications: 0 };
    const bad = { key_id: key.keyId, signature: `base64:${"A".repeat(86)}==` };
    const signatures = [
      ...Array.from({ length: 10_000 }, () => bad),
      { key_id: key.keyId, signature: good.signature },
    ];
    const batch = { ...bad, signatures };
    expect(() => verifyBatch({ ...verifier, tally, batch, jobs: [good] })).toThrow(
      expect.objectContaining({ code: "INVALID_SIGNATURE" }),
    );
    expect(tally.verifications).toBe(4);
  });

  test("S-14: what is parsed is the text that was checked, also when it reads otherwise the second time", () => {
    let reads = 0;
    const shifty = {
      ...good,
      get document() {
        return reads++ === 0 ? document : canonicalize({ job_id: jobId, text: "evil" } as JsonValue);
      },
      signature: signText(key, document),
      lease_signature: signText(key, lease),
      key_id: key.keyId,
    };
    const verified = verifyClaim({ ...verifier, claim: shifty });
    expect(verified.documentText).toBe(document);
    expect(verified.document["text"]).toBe("ä🙂");
    expect(verified.documentSha256).toBe(sha256Hex(document));
  });
});

describe("the hub refuses a submission and changes nothing", () => {
  // No worker lives here, so that whatever changes was changed by the submission.
  let quiet: TestHub;
  beforeAll(async () => {
    quiet = await startTestHub(stillEnv);
  });
  afterAll(() => quiet.stop());

  const plain = (field: string) => `{"type":"x","run":{"kind":"exec","argv":["true"]},${field}}`;
  test.each([
    ["S-08", '"allowed_paths":["src/"],"allowed_paths":["/"]', "DUPLICATE_KEY"],
    ["S-08", '"params":{"a":{"b":1,"\\u0062":2}}', "DUPLICATE_KEY"],
    ["S-09", '"timeout_sec":1e400', "INVALID_JSON"],
    ["S-09", '"timeout_sec":-0', "INVALID_JSON"],
    ["S-09", '"timeout_sec":9007199254740993', "INVALID_JSON"],
    ["S-09", '"timeout_sec":60.0', "INVALID_ARGUMENT"],
    ["S-09", '"timeout_sec":600.5', "INVALID_ARGUMENT"],
    ["S-09", '"priority":5e0', "INVALID_ARGUMENT"],
    ["S-10", '"params":{"a":"\\ud83d"}', "INVALID_JSON"],
    ["S-10", '"params":{"\\udc00":1}', "INVALID_JSON"],
  ])("%s: %s", async (_row, field, code) => {
    const before = snapshot(quiet.home);
    const answer = await quiet.call("POST", "/jobs", { token: quiet.admin, body: plain(field) });
    expect(answer).toMatchObject({ status: 400, code });
    expect(snapshot(quiet.home)).toBe(before);
  });

  test.each([
    ["a byte order mark", (text: string) => `\ufeff${text}`],
    ["garbage behind the JSON", (text: string) => `${text} {}`],
    ["a raw lone surrogate", (text: string) => Buffer.from(text.replace("true", "\u0001")).fill(0xed, 4, 5)],
  ])("S-10: %s", async (_what, change) => {
    const before = snapshot(quiet.home);
    const body = change(plain('"priority":5'));
    const answer = await quiet.call("POST", "/jobs", { token: quiet.admin, body });
    expect(answer).toMatchObject({ status: 400, code: "INVALID_JSON" });
    expect(snapshot(quiet.home)).toBe(before);
  });
});

describe("what is odd but right verifies to the byte and runs", () => {
  test.each([
    ["S-09", "decimals keep their spelling", '{"a":1.0,"b":-0.0,"c":1e-07,"d":1e+21,"e":0.1}'],
    ["S-10", "NFC and NFD are two keys", '{"a\\u030a":1,"\\u00e5":2}'],
    ["S-10", "an astral key comes after the last of the plane below", '{"\\uffff":1,"\\ud83d\\ude00":2}'],
  ])("%s: %s", async (_row, _what, params) => {
    const body = `{"type":"${type}","run":{"kind":"exec","argv":["true"]},"params":${params}}`;
    const { id } = (await hub.must("POST", "/jobs", { token: hub.admin, body })).json<{ id: string }>();
    expect(await ended(id)).toMatchObject({ status: "completed" });
    const claim = middleman.claims.flatMap(({ jobs }) => jobs).find((job) => job.id === id)!;
    expect(claim.document).toContain(`"params":${params}`);
  });

  test("S-11: fields beside the signed texts are not looked at", async () => {
    const { job, mark, events } = await deliver((answer) => ({
      ...answer,
      timeout_sec: 1,
      jobs: answer.jobs.map((one) => ({
        ...one,
        run: { kind: "exec", argv: ["false"] },
        env: { PATH: "/evil" },
        timeout_sec: 1,
        repo_root: "/",
      })),
    }));
    expect(job.status).toBe("completed");
    expect(existsSync(mark)).toBe(true);
    expect(events.map(({ event }) => event)).toContain("JOB_COMPLETED");
  });

  test("S-12: a retry has the same document under a new lease, its timeout doubled, and both verify", async () => {
    const workerId = await registerWorker(hub);
    const other = freshName("retried");
    const { id } = await submitJob(hub, { type: other, timeout_sec: 60 });
    const claim = async () => {
      const body = { worker_id: workerId, types: [other] };
      const answer = (await hub.must("POST", "/jobs/claim", { token: hub.admin, body })).json<
        Parameters<typeof verifyClaim>[0]["claim"]
      >();
      const trusted = [loadVerifyingKey(activeKey(hub).publicKeyPem)];
      return verifyClaim({ trusted, workerId, nowMs: Date.now(), claim: answer });
    };
    const first = await claim();
    const fence = { worker_id: workerId, attempt: first.lease.attempt, token: first.lease.token };
    const body = { ...fence, reason: "too slow", code: "TIMEOUT" };
    await hub.must("POST", `/jobs/${id}/fail`, { token: hub.admin, body });
    const second = await claim();
    expect(second.documentText).toBe(first.documentText);
    expect([first.lease.timeout_sec, second.lease.timeout_sec]).toEqual([60, 120]);
    expect([first.lease.attempt, second.lease.attempt]).toEqual([1, 2]);
  });
});
