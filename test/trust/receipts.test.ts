import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReceiptView } from "../../src/contract/shapes/trust-view-shapes.ts";
import { verifyBundle } from "../../src/signing/bundle/verify-bundle.ts";
import { generateSigningKey, loadVerifyingKey, signText } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { parseReceipt } from "../../src/signing/receipt-text.ts";
import { verifyClaims } from "../../src/worker/claims/verify-claims.ts";
import { readEvents, readRows, tamperWith } from "../support/database.ts";
import { editSignature, moveReceipt } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import type { ClaimAnswer } from "../support/middleman.ts";
import { finishTogether, signingWorker } from "../support/receipts.ts";
import { runCommand } from "../support/run-command.ts";
import { issueToken } from "../support/tokens.ts";
import { hubForAll } from "../support/use-hub.ts";
import { activeKey, startTestWorker, type TestWorker } from "../support/worker.ts";

const hub = hubForAll(stillEnv);
let worker: TestWorker;
let dir: string;
const type = freshName("signed");

beforeAll(async () => {
  worker = await startTestWorker(hub, { types: [type] });
  dir = mkdtempSync(join(tmpdir(), "writ-receipts-"));
});

afterAll(async () => {
  await worker.stop();
  rmSync(dir, { recursive: true, force: true });
});

type Job = { status: string; attempt: number; document_sha256: string };

async function readJob(id: string): Promise<Job> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<Job>();
}

async function receiptOf(id: string, token = hub.admin): Promise<ReceiptView> {
  return (await hub.must("GET", `/jobs/${id}/receipt`, { token })).json<ReceiptView>();
}

/** A job that a real worker has run to its end. */
async function ranJob(argv: string[], status = "completed", more: object = {}): Promise<string> {
  const { id } = await submitJob(hub, { type, run: { kind: "exec", argv }, max_attempts: 1, ...more });
  await eventually("the job to end", async () => (await readJob(id)).status === status);
  return id;
}

function refusals(jobId: string) {
  return readEvents(hub.home).filter(
    ({ job_id, event }) => job_id === jobId && event === "INVALID_SIGNATURE",
  );
}

function hubKeys() {
  const { keyId, publicKeyPem } = activeKey(hub);
  return [{ key_id: keyId, public_key: publicKeyPem, status: "active" as const }];
}

describe("a batch", () => {
  test("of 256 jobs costs one signature in the hub, one verification in the worker, one receipt signature", async () => {
    const many = freshName("many");
    const jobs = Array.from({ length: 256 }, () => ({ type: many, run: { kind: "handler" } }));
    await hub.must("POST", "/jobs/batch", { token: hub.admin, body: { jobs } });
    const { workerId, key } = await signingWorker(hub);
    const before = await signaturesMade();
    const body = { worker_id: workerId, types: [many], max: 256 };
    const batch = (
      await hub.must("POST", "/jobs/claim-batch", { token: hub.admin, body })
    ).json<ClaimAnswer>();
    expect(batch.jobs).toHaveLength(256);
    expect((await signaturesMade()) - before).toBe(1);

    const tally = { verifications: 0 };
    const trusted = [loadVerifyingKey(activeKey(hub).publicKeyPem)];
    const verified = verifyClaims({ trusted, workerId, nowMs: Date.now(), tally }, batch as never);
    expect(verified.accepted).toHaveLength(256);
    expect(tally.verifications).toBe(1);

    const held = verified.accepted.map(({ lease }) => ({
      id: lease.job_id,
      type: many,
      key,
      fence: { worker_id: workerId, attempt: lease.attempt, token: lease.token },
    }));
    await finishTogether(hub, { workerId, key, held });
    expect(
      readRows(hub.home, "SELECT id FROM receipt_signatures WHERE worker_id = ?", workerId),
    ).toHaveLength(1);
    for (const { id } of [held[0]!, held[255]!]) {
      const steps = await verifyBundle({ bundle: await receiptOf(id), keys: hubKeys() });
      expect(steps.filter(({ isFine }) => isFine === false)).toEqual([]);
    }
    expect(
      readEvents(hub.home).filter(
        ({ details }) => details["worker_id"] === workerId && details["violation_type"],
      ),
    ).toEqual([]);
  });

  test("the worker counts its verifications in its metrics", async () => {
    await ranJob(["true"]);
    const count = await eventually("the count to arrive", async () => {
      const { metrics } = (await hub.must("GET", `/workers/${worker.workerId}`, { token: hub.admin })).json<{
        metrics: { signatures_verified?: number }[];
      }>();
      return metrics
        .map(({ signatures_verified = 0 }) => signatures_verified)
        .find((verified) => verified > 0);
    });
    expect(count).toBeGreaterThan(0);
  });
});

describe("the receipt of a real worker", () => {
  test("holds for output, errors, exit code and result", async () => {
    const script = 'printf "out ä"; printf err >&2; printf \'{"n":1.50,"s":"ü"}\' > "$JOB_RESULT_FILE"';
    const id = await ranJob(["sh", "-c", script]);
    const bundle = await receiptOf(id);
    const receipt = parseReceipt(bundle.receipt);
    expect(receipt).toMatchObject({
      job_id: id,
      worker_id: worker.workerId,
      exit_code: 0,
      stdout_sha256: sha256Hex("out ä"),
      stderr_sha256: sha256Hex("err"),
    });
    expect(receipt.ended_at).toBeGreaterThanOrEqual(receipt.started_at!);
    expect(bundle.document).toContain(id);
    expect(sha256Hex(bundle.document!)).toBe((await readJob(id)).document_sha256);
    const outputs = { stdout: sha256Hex("out ä"), stderr: sha256Hex("err"), files: [] };
    expect((await verifyBundle({ bundle, keys: hubKeys(), outputs })).map(({ isFine }) => isFine)).toEqual(
      Array(8).fill(true),
    );
    expect(refusals(id)).toEqual([]);
  });

  test("holds for a failure too, and for a lot of output", async () => {
    const id = await ranJob(["sh", "-c", "head -c 3000000 /dev/zero; exit 3"], "failed");
    const { receipt } = await receiptOf(id);
    expect(parseReceipt(receipt)).toMatchObject({
      exit_code: 3,
      stdout_sha256: sha256Hex(Buffer.alloc(3_000_000)),
    });
    expect(refusals(id)).toEqual([]);
  });

  test("outlives the worker that signed it", async () => {
    const gone = freshName("gone");
    const other = await startTestWorker(hub, { types: [gone] });
    const { id } = await submitJob(hub, { type: gone });
    await eventually("the job to end", async () => (await readJob(id)).status === "completed");
    await other.stop();
    await hub.call("DELETE", `/workers/${other.workerId}`, { token: hub.admin });
    const steps = await verifyBundle({ bundle: await receiptOf(id), keys: hubKeys() });
    expect(steps.filter(({ isFine }) => isFine === false)).toEqual([]);
  });

  test("shows a viewer no document that has an environment", async () => {
    const run = { kind: "exec", argv: ["true"], env: { SECRET_VALUE: "hush, hush" } };
    const id = await ranJob(["true"], "completed", { run });
    const { token } = await issueToken(hub, { role: "viewer" });
    const bundle = await receiptOf(id, token);
    expect(bundle).toMatchObject({ document: null, signature: null });
    expect(JSON.stringify(bundle)).not.toContain("hush, hush");
    expect((await receiptOf(id)).document).toContain("hush, hush");
  });
});

describe("somebody with access to the database", () => {
  const edits: [string, (id: string) => unknown][] = [
    ["a document", (id) => tamperWith(hub.home).editInDocument(id, "true", "rm")],
    ["a routing column", (id) => tamperWith(hub.home).editJob(id, "priority", 9)],
    ["a receipt", (id) => editSignature(hub.home, id, "text = replace(text, 'exit_code', 'exit-code')")],
    ["the key of a receipt", (id) => editSignature(hub.home, id, "public_key = 'another'")],
    ["the place of a receipt", (id) => moveReceipt(hub.home, id)],
  ];

  test.each(edits)("cannot have the hub vouch for %s that was edited", async (_what, edit) => {
    const id = await ranJob(["true"]);
    await edit(id);
    const answer = await hub.call("GET", `/jobs/${id}/receipt`, { token: hub.admin });
    expect(answer).toMatchObject({ status: 400, code: "INVALID_SIGNATURE" });
    expect(refusals(id)).toMatchObject([{ details: { violation_type: "SEAL" } }]);
  });
});

describe("jobctl verify", () => {
  let id: string;
  let bundleFile: string;
  let keysFile: string;

  beforeAll(async () => {
    id = await ranJob(["sh", "-c", "echo hello"]);
    bundleFile = join(dir, "bundle.json");
    keysFile = join(dir, "keys.pem");
    expect(await cli("writ", ["keys", "export", "--out", keysFile])).toMatchObject({ exitCode: 0 });
    expect(await cli("jobctl", ["verify", id, "--export", bundleFile])).toMatchObject({ exitCode: 0 });
  });

  test("checks every link online", async () => {
    const { stdout, exitCode } = await cli("jobctl", ["--json", "verify", id]);
    const steps = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(steps.map(({ step, state }) => `${step} ${state}`)).toEqual([
      "hub key ok",
      "document ok",
      "grant ok",
      "receipt ok",
      "result ok",
      "stdout ok",
      "stderr ok",
      "files ok",
      "state ok",
    ]);
    expect(exitCode).toBe(0);
  });

  test("checks a bundle without a hub, against keys of the reader's own", async () => {
    const offline = ["verify", "--bundle", bundleFile, "--keys", keysFile];
    const { stdout, exitCode } = await cli("jobctl", offline, { home: "/nonexistent" });
    expect(stdout).not.toContain("broken");
    expect(exitCode).toBe(0);
    const { publicKeyPem } = generateSigningKey().signingKey;
    writeFileSync(join(dir, "other.pem"), publicKeyPem);
    const wrong = await cli("jobctl", ["verify", "--bundle", bundleFile, "--keys", join(dir, "other.pem")]);
    expect(wrong).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(
        /^broken +hub key +\w+ is not among the trusted keys; a hub signs with the key /,
      ),
    });
    // Nothing is known to be wrong with what an unknown key has signed.
    for (const step of ["document", "grant"])
      expect(wrong.stdout).toMatch(
        new RegExp(`^unknown +${step} +not checked: signed by \\w+, which is not a trusted key$`, "m"),
      );
  });

  test("B5: never trusts the keys inside a bundle", async () => {
    const bundle = JSON.parse(readFileSync(bundleFile, "utf8"));
    const { signingKey } = generateSigningKey();
    const forged = {
      ...bundle,
      key_id: signingKey.keyId,
      signature: signText(signingKey, bundle.document),
      grant_signature: signText(signingKey, bundle.grant),
      keys: [{ ...bundle.keys[0], key_id: signingKey.keyId, public_key: signingKey.publicKeyPem }],
    };
    writeFileSync(join(dir, "forged.json"), JSON.stringify(forged));
    const verify = (file: string, home: string) => cli("jobctl", ["verify", "--bundle", file], { home });

    expect(await verify("forged.json", hub.home)).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining(`${signingKey.keyId} is not among the trusted keys`),
    });
    for (const file of ["forged.json", "bundle.json"]) {
      expect(await verify(file, "/nonexistent")).toEqual({
        exitCode: 1,
        stdout: expect.stringMatching(/^broken +hub key +not verified: no trusted key\. .*--keys FILE.*\n$/),
        stderr: "",
      });
    }
    expect(await verify("bundle.json", hub.home)).toMatchObject({ exitCode: 0 });
  });

  test("B5: compares copies of the output with the receipt, without a hub", async () => {
    writeFileSync(join(dir, "out"), "hello\n");
    writeFileSync(join(dir, "empty"), "");
    const verify = (...more: string[]) =>
      cli("jobctl", ["verify", "--bundle", bundleFile, "--keys", keysFile, ...more], {
        home: "/nonexistent",
      });
    const right = await verify("--stdout", "out", "--stderr", "empty");
    expect(right.stdout).toMatch(/ok +stdout +matches the receipt[\s\S]*ok +stderr +matches the receipt/);
    expect(right.exitCode).toBe(0);
    const wrong = await verify("--stdout", "empty");
    expect(wrong.stdout).toMatch(/broken +stdout +does not match the receipt[\s\S]*unknown +stderr/);
    expect(wrong.exitCode).toBe(1);
    expect(await verify("--stderr", "nowhere")).toMatchObject({ exitCode: 4 });
    expect((await cli("jobctl", ["verify", id, "--stdout", "empty"])).exitCode).toBe(1);
  });

  test.each([
    "document",
    "signature",
    "grant",
    "grant_signature",
    "receipt",
    "signed",
    "receipt_signature",
    "result",
    "job_id",
    "attempt",
    "worker",
  ])("finds a bundle whose %s was changed", async (field) => {
    const bundle = JSON.parse(readFileSync(bundleFile, "utf8"));
    const text = String(bundle[field]);
    const at = Math.floor(text.length / 2);
    if (field === "attempt") bundle.attempt++;
    else if (field === "worker") bundle.worker.worker_id = "another";
    else bundle[field] = `${text.slice(0, at)}${text[at] === "0" ? "1" : "0"}${text.slice(at + 1)}`;
    const path = join(dir, `${field}.json`);
    writeFileSync(path, JSON.stringify(bundle));
    const { exitCode, stdout } = await cli("jobctl", ["verify", "--bundle", path, "--keys", keysFile]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("broken");
  });

  test("wants a job or a bundle, and not both", async () => {
    expect(await cli("jobctl", ["verify"])).toMatchObject({ exitCode: 2 });
    expect(await cli("jobctl", ["verify", id, "--bundle", bundleFile])).toMatchObject({ exitCode: 2 });
  });

  test("writ keys lists, rotates and revokes", async () => {
    const old = activeKey(hub).keyId;
    expect((await cli("writ", ["keys", "rotate"])).exitCode).toBe(0);
    const list = await cli("writ", ["keys", "list"]);
    expect(list.stdout).toMatch(new RegExp(`${old}\\s+retiring`));
    expect(await cli("writ", ["keys", "revoke", old, "--now"])).toMatchObject({
      exitCode: 0,
      stdout: `${old} is revoked\n`,
    });
  });
});

async function signaturesMade(): Promise<number> {
  const { text } = await hub.must("GET", "//metrics", { token: hub.admin });
  return Number(/^writ_signatures_total (\d+)/m.exec(text)?.[1]);
}

function cli(program: "writ" | "jobctl", args: string[], { home = hub.home } = {}) {
  return runCommand(program, args, { home, cwd: dir });
}
