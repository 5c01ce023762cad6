import { describe, expect, test } from "vitest";
import { generateSigningKey, signText } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { readEvents, readRows } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { claimJob, freshName, submitJob } from "../support/jobs.ts";
import {
  finishTogether,
  receiptFor,
  receiptParts,
  reportItems,
  signedRunningJob,
  signingWorker,
} from "../support/receipts.ts";
import { hubForEach } from "../support/use-hub.ts";

// A hub for each: one that sees many of these in a row locks itself.
const hub = hubForEach(stillEnv);

async function readJob(id: string): Promise<{ status: string }> {
  return (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ status: string }>();
}

function refusals(jobId: string) {
  return readEvents(hub.home).filter(
    ({ job_id, event }) => job_id === jobId && event === "INVALID_SIGNATURE",
  );
}

const file = { folder_id: "f", object_key: "k", sha256: "c".repeat(64), size: 1 };

describe("a receipt that does not hold", () => {
  const cases: [string, object][] = [
    ["another attempt", { attempt: 2 }],
    ["another worker", { worker_id: "somebody" }],
    ["another job", { job_id: "00000000-0000-4000-8000-000000000009" }],
    ["another document", { document_sha256: "a".repeat(64) }],
    ["another exit code", { exit_code: 7 }],
    ["another result", { result: { other: 1 } }],
    ["another isolation", { isolation: { level: "strict", applied: [], missing: [] } }],
    ["another output", { stdout_sha256: "b".repeat(64) }],
    ["other files", { output_files: [file] }],
  ];

  test.each(cases)("about %s leaves the job as it is and names the worker", async (_what, says) => {
    const held = await signedRunningJob(hub);
    const isolation = { level: "best-effort", applied: [], missing: [] };
    const receipt = await receiptFor(hub, held, { result: 1, isolation, ...says });
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: 1, isolation, receipt },
    });
    const [event] = await eventually("the refusal", () => refusals(held.id).length > 0 && refusals(held.id));
    expect(event!.details).toMatchObject({
      violation_type: "RECEIPT",
      worker_id: held.fence.worker_id,
      attempt: 1,
    });
    const job = await readJob(held.id);
    expect(job).toMatchObject({ status: "completed", result: 1 });
    // The worker has contradicted itself, which the trail tells; the database is as it was.
    expect(job).not.toHaveProperty("damaged");
  });

  test("about other output than what came with it names the worker too", async () => {
    const send = async (said: string) => {
      const held = await signedRunningJob(hub);
      const receipt = await receiptFor(hub, held, { result: 1, stdout_sha256: sha256Hex(said) });
      const small_output = { stdout: Buffer.from("hello").toString("base64") };
      const body = { ...held.fence, result: 1, receipt, small_output };
      await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
      return held.id;
    };
    const honest = await send("hello");
    const lying = await send("other");
    await eventually("the refusal", () => refusals(lying).length === 1);
    expect(refusals(honest)).toEqual([]);
  });

  test.each([
    ["by another key", () => signText(generateSigningKey().signingKey, "x")],
    ["that is no signature", () => "base64:nonsense"],
  ])("with a signature %s", async (_what, signature) => {
    const held = await signedRunningJob(hub);
    const receipt = { ...(await receiptFor(hub, held, { result: 1 })), signature: signature() };
    await hub.must("POST", `/jobs/${held.id}/result`, {
      token: hub.admin,
      body: { ...held.fence, result: 1, receipt },
    });
    await eventually("the refusal", () => refusals(held.id).length === 1);
    expect(await readJob(held.id)).toMatchObject({ status: "completed" });
  });

  test("of an attempt that does not count is not kept at all", async () => {
    const held = await signedRunningJob(hub);
    await hub.must("POST", `/jobs/${held.id}/release`, { token: hub.admin, body: held.fence });
    const receipt = await receiptFor(hub, held, { result: 1 });
    const body = { ...held.fence, result: 1, receipt };
    expect(await hub.call("POST", `/jobs/${held.id}/result`, { token: hub.admin, body })).toMatchObject({
      code: "LEASE_LOST",
    });
    expect(
      readRows(hub.home, "SELECT id FROM receipt_signatures WHERE instr(text, ?) > 0", receipt.text),
    ).toEqual([]);
  });

  test("in a batch whose list was signed by somebody else is told of once", async () => {
    const { workerId } = await signingWorker(hub);
    const other = generateSigningKey().signingKey;
    const two = freshName("two");
    const ids = [await submitJob(hub, { type: two }), await submitJob(hub, { type: two })];
    const held = await Promise.all(ids.map(() => claimJob(hub, { workerId, type: two })));
    await finishTogether(hub, { workerId, key: other, held });
    await eventually("the refusal", () => held.some(({ id }) => refusals(id).length === 1));
    expect(held.flatMap(({ id }) => refusals(id))).toHaveLength(1);
  });
});

describe("a receipt that is sent as its parts", () => {
  /** What a worker sends about a result of 1, whose receipt says something else if the test wishes so. */
  async function reportParts(says: object, item: object = {}) {
    const held = await signedRunningJob(hub);
    const { text } = await receiptFor(hub, held, { result: 1, ...says });
    const { attempt, token } = held.fence;
    const sent = { job_id: held.id, attempt, token, result: 1, receipt_parts: receiptParts(text), ...item };
    const signer = { workerId: held.fence.worker_id, key: held.key };
    return { held, text, answers: await reportItems(hub, signer, [{ hash: sha256Hex(text), item: sent }]) };
  }

  test.each([
    ["another attempt", { attempt: 2 }],
    ["another worker", { worker_id: "somebody" }],
    ["another exit code", { exit_code: 7 }],
    ["another result", { result: { other: 1 } }],
    ["other files", { output_files: [file] }],
    ["another isolation", { isolation: { level: "strict", applied: [], missing: [] } }],
  ])("is refused if it is about %s than its item, and nothing ends", async (_what, says) => {
    const { held, answers } = await reportParts(says);
    expect(answers).toMatchObject([{ error: { code: "INVALID_ARGUMENT" } }]);
    expect(answers[0]!.error!.message).toContain("receipt_parts.sha256");
    expect(await readJob(held.id)).toMatchObject({ status: "running" });
  });

  test("is refused beside the text of one", async () => {
    const { answers } = await reportParts({}, { receipt: "{}" });
    expect(answers).toMatchObject([{ error: { code: "INVALID_ARGUMENT" } }]);
  });

  test.each([
    ["another document", { document_sha256: "a".repeat(64) }],
    ["another output", { stdout_sha256: "b".repeat(64) }],
  ])("about %s names the worker", async (_what, says) => {
    const { held } = await reportParts(says);
    await eventually("the refusal", () => refusals(held.id).length === 1);
    expect(await readJob(held.id)).toMatchObject({ status: "completed" });
  });

  test("is kept and shown as the text that was signed, also beside an item that is refused", async () => {
    const { workerId, key } = await signingWorker(hub);
    const type = freshName("parts");
    const ids = [await submitJob(hub, { type }), await submitJob(hub, { type })];
    const held = await Promise.all(ids.map(() => claimJob(hub, { workerId, type })));
    const texts = await Promise.all(
      held.map(async (one) => (await receiptFor(hub, { ...one, key }, { result: 1 })).text),
    );
    const items = held.map(({ id, fence: { attempt, token } }, index) => ({
      hash: sha256Hex(texts[index]!),
      item: { job_id: id, attempt, token, result: 1, receipt_parts: receiptParts(texts[index]!) },
    }));
    Object.assign(items[0]!.item, { nonsense: true });
    const answers = await reportItems(hub, { workerId, key }, items);
    expect(answers).toMatchObject([{ error: { code: "INVALID_ARGUMENT" } }, { status: "completed" }]);
    const { id } = held[1]!;
    const shown = await hub.must("GET", `/jobs/${id}/receipt`, { token: hub.admin });
    const bundle = shown.json<{ receipt: string; signed: string }>();
    expect(bundle.receipt).toBe(texts[1]);
    expect(bundle.signed).toContain(sha256Hex(texts[1]!));
    // One job's bundle shows nothing of the others but a hash.
    expect(JSON.stringify(bundle)).not.toContain(held[0]!.id);
    expect(refusals(id)).toEqual([]);
  });
});
