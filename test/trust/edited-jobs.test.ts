import { expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import type { WhyView } from "../../src/contract/why-view.ts";
import { verifySeals } from "../../src/hub/admin.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { editRows, readEvents, tamperWith } from "../support/database.ts";
import { editSignature } from "../support/edit-database.ts";
import { stillEnv } from "../support/hub.ts";
import { receiptFor, signedRunningJob } from "../support/receipts.ts";
import { memoryHubForAll } from "../support/use-hub.ts";

// What somebody changes who reaches the database and not the keys of the hub, with the hash of a result too.
// Why: ADR 0134.

const hub = memoryHubForAll(stillEnv);
const isolation = { level: "best-effort", applied: ["memory"], missing: [] };
const token = () => ({ token: hub.admin });

const view = async (id: string) => (await hub.must("GET", `/jobs/${id}`, token())).json<JobView>();
const why = async (id: string) => (await hub.must("GET", `/jobs/${id}/why`, token())).json<WhyView>();

async function completed(): Promise<string> {
  const held = await signedRunningJob(hub);
  const receipt = await receiptFor(hub, held, { result: { sum: 42 }, exit_code: 0, isolation });
  const body = { ...held.fence, result: { sum: 42 }, exit_code: 0, isolation, receipt };
  await hub.must("POST", `/jobs/${held.id}/result`, { ...token(), body });
  return held.id;
}

async function failed(): Promise<string> {
  const held = await signedRunningJob(hub, { max_attempts: 1 });
  const receipt = await receiptFor(hub, held, { exit_code: 1, isolation });
  const body = { ...held.fence, reason: "exit code 1", exit_code: 1, isolation, receipt };
  await hub.must("POST", `/jobs/${held.id}/fail`, { ...token(), body });
  return held.id;
}

test("a job that is as it ended is shown whole", async () => {
  for (const id of [await completed(), await failed()]) expect(await view(id)).not.toHaveProperty("damaged");
});

test("a failed job is not shown as one that succeeded", async () => {
  const id = await failed();
  await tamperWith(hub.home).editEnd(id, { status: "completed", exitCode: 0, failCode: null });
  expect(await view(id)).toMatchObject({ damaged: ["state", "exit_code"], exit_code: null });
  expect(await why(id)).toMatchObject({ held_by: "damaged" });
  expect(
    readEvents(hub.home).filter(({ event, job_id }) => event === "STORE_CORRUPT" && job_id === id),
  ).toHaveLength(1);
});

test("a result with a hash that fits it is not served when its receipt has another", async () => {
  const id = await completed();
  const forged = '{"sum":43}';
  await tamperWith(hub.home).editText(id, "result", forged);
  await tamperWith(hub.home).editEnd(id, { resultHash: sha256Hex(forged) });
  expect(await view(id)).toMatchObject({ status: "completed", result: null, damaged: ["result"] });
});

test("an isolation that the receipt does not have is not shown", async () => {
  const id = await completed();
  await tamperWith(hub.home).editText(id, "isolation", '{"level":"strict","applied":[],"missing":[]}');
  expect(await view(id)).toMatchObject({ isolation: null, damaged: ["isolation"] });
});

test("a completed job that was set back to pending is damaged, and why tells so", async () => {
  const id = await completed();
  await tamperWith(hub.home).editEnd(id, { status: "pending" });
  expect((await view(id)).damaged).toContain("state");
  expect(await why(id)).toMatchObject({
    held_by: "damaged",
    summary: expect.stringContaining("contradicts"),
  });
});

test("a receipt that was edited is damaged, and not deleted", async () => {
  const id = await completed();
  editSignature(hub.home, id, "id = '00' || substr(id, 3)");
  expect(await view(id)).toMatchObject({ damaged: ["receipt"] });
  const answer = await hub.call("GET", `/jobs/${id}/receipt`, token());
  expect(answer).toMatchObject({ status: 400, code: "INVALID_SIGNATURE" });
});

test("a byte of a receipt in its frame is found", async () => {
  const id = await completed();
  const flip = "UPDATE payloads SET bytes = CAST(substr(bytes, 1, 20) || X'5A' || substr(bytes, 22) AS BLOB)";
  await tamperWith(hub.home).editEnd(id, {});
  const place = "(SELECT 8 * receipt_frame + 3 FROM jobs WHERE lower(hex(id)) = ?)";
  expect(editRows(hub.home, `${flip} WHERE place = ${place}`, id.replaceAll("-", ""))).toBe(1);
  expect((await view(id)).damaged).toContain("receipt");
  const answer = await hub.call("GET", `/jobs/${id}/receipt`, token());
  expect(answer).toMatchObject({ status: 400, code: "INVALID_SIGNATURE" });
});

test("the check of all seals names each job that was edited, and no other", async () => {
  const contradicted = async () => (await verifySeals({ home: hub.home, env: {} })).contradicted;
  const known = await contradicted();
  const ids = [await completed(), await failed(), await completed(), await completed(), await completed()];
  expect(await contradicted()).toEqual(known);
  const [resultOf, stateOf, signatureOf, receiptOf] = ids as [string, string, string, string];
  await tamperWith(hub.home).editText(resultOf, "result", "1");
  await tamperWith(hub.home).editEnd(resultOf, { resultHash: sha256Hex("1") });
  await tamperWith(hub.home).editEnd(stateOf, { status: "completed", exitCode: 0, failCode: null });
  editSignature(
    hub.home,
    signatureOf,
    "signature = replace(signature, substr(signature, 12, 8), 'AAAAAAAA')",
  );
  editSignature(hub.home, receiptOf, "text = replace(text, 'best-effort', 'strict')");
  const found = (await contradicted()).filter((id) => !known.includes(id));
  expect(found.toSorted()).toEqual(ids.slice(0, 4).toSorted());
});
