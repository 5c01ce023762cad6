import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReceiptView } from "../../src/contract/shapes/trust-view-shapes.ts";
import { parseReceipt } from "../../src/signing/receipt-text.ts";
import { readEvents, tamperWith } from "../support/database.ts";
import { endEarlier } from "../support/edit-database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, submitJob } from "../support/jobs.ts";
import { runCommand } from "../support/run-command.ts";
import { issueTokens, type Tokens } from "../support/tokens.ts";
import { startTestWorker } from "../support/worker.ts";

let hub: TestHub;
let tokens: Tokens;
let home: string;
/** The receipts as they were while their jobs were there. */
let before: ReceiptView[];
const type = freshName("forgotten");
const days = (count: number) => count * 86_400_000;

/** Two jobs of alice's with receipts and output, a month and a day ago. */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "writ-kept-"));
  hub = await startTestHub(stillEnv, { home });
  tokens = await issueTokens(hub);
  const worker = await startTestWorker(hub, { types: [type] });
  const ids = [await ran(), await ran()];
  await worker.stop();
  before = await Promise.all(ids.map(receiptOf));
  await hub.stop({ keepHome: true });
  endEarlier(home, days(31));
  hub = await startTestHub(stillEnv, { home });
  await eventually("the jobs are forgotten", async () => {
    const answers = await Promise.all(ids.map((id) => hub.call("GET", `/jobs/${id}`, { token: hub.admin })));
    return answers.every(({ status }) => status === 404);
  });
});
afterAll(async () => {
  await hub.stop({ keepHome: true });
  rmSync(home, { recursive: true, force: true });
});

test("the receipt of a job that is gone is refused to whom the job was refused", async () => {
  const [{ job_id: id }] = before as [ReceiptView];
  const read = (token: string) => hub.call("GET", `/jobs/${id}/receipt`, { token });
  expect((await read(tokens.bob)).status).toBe(403);
  const hidden = await read(tokens.eve);
  const missing = await hub.call("GET", `/jobs/${crypto.randomUUID()}/receipt`, { token: tokens.eve });
  expect([hidden.status, hidden.code]).toEqual([missing.status, missing.code]);
  const { status } = await hub.call("GET", `/jobs/${id}/output/stdout`, { token: tokens.alice });
  expect(status).toBe(404);
});

test("it has what it had before, except the result, which was deleted with the job", async () => {
  for (const was of before) {
    const now = await receiptOf(was.job_id);
    expect(was).toMatchObject({ result: '{"n":1}', result_kept: true });
    expect(now).toEqual({ ...was, result: null, result_kept: false });
  }
});

test("jobctl verify proves what is left, and says what is not at hand", async () => {
  const [{ job_id: id, receipt }] = before as [ReceiptView];
  const { stdout_sha256, stderr_sha256, result_sha256 } = parseReceipt(receipt);
  const { exitCode, stdout } = await jobctl("--json", "verify", id);
  expect(exitCode, stdout).toBe(0);
  const steps = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, string>);
  expect(steps.map(({ step, state }) => [step, state])).toEqual([
    ["hub key", "ok"],
    ["document", "ok"],
    ["grant", "ok"],
    ["receipt", "ok"],
    ["result", "unknown"],
    ["stdout", "unknown"],
    ["stderr", "unknown"],
    ["files", "ok"],
  ]);
  const said = steps.map(({ says }) => says).join("\n");
  for (const hash of [stdout_sha256, stderr_sha256, result_sha256]) expect(said).toContain(hash);

  const bundle = join(home, "bundle.json");
  expect((await jobctl("verify", id, "--export", bundle)).exitCode).toBe(0);
  expect((await jobctl("verify", "--bundle", bundle)).exitCode).toBe(0);
});

test("a row that somebody edited is not vouched for, and the audit trail says so", async () => {
  const id = before[1]!.job_id;
  await tamperWith(home).editReceipt(id, { document: '{"run":{"kind":"exac"}}' });
  const answer = await hub.call("GET", `/jobs/${id}/receipt`, { token: tokens.alice });
  expect(answer).toMatchObject({ status: 400, code: "INVALID_SIGNATURE" });
  const events = readEvents(home).filter(({ event }) => event === "INVALID_SIGNATURE");
  expect(events).toMatchObject([{ job_id: id, details: { violation_type: "SEAL" } }]);
});

async function ran(): Promise<string> {
  const script = 'echo out; echo err >&2; printf \'{"n":1}\' > "$JOB_RESULT_FILE"';
  const run = { kind: "exec", argv: ["sh", "-c", script] };
  const { id } = await submitJob(hub, { type, run, token: tokens.alice });
  await eventually("the job is done", async () => {
    const job = (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<{ status: string }>();
    return job.status === "completed";
  });
  return id;
}

async function receiptOf(id: string): Promise<ReceiptView> {
  return (await hub.must("GET", `/jobs/${id}/receipt`, { token: tokens.alice })).json<ReceiptView>();
}

function jobctl(...args: string[]) {
  return runCommand("jobctl", args, { home });
}
