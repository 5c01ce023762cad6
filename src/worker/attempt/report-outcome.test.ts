import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sha256Hex } from "../../signing/mac.ts";
import { type Call, type Ending, testJob, testJobId } from "../fake-hub.testing.ts";
import { endingOf, exec, output, setStage, start } from "../worker-stage.testing.ts";

const stage = setStage();
const says = (text: string, number = 1) => exec(number, ["sh", "-c", `printf ${text}; printf oops >&2`]);

test("an end that the hub refuses for another reason is not reported again unchanged", async () => {
  const ends = refuseEnds(() => ({
    code: "INVALID_ARGUMENT",
    message: "exit_code: must not be",
    details: {},
  }));
  stage.hub.queue = [says("hello")];
  await start(stage);
  await stage.hub.until(() => ends.length === 2);
  expect(ends).toMatchObject([{ exit_code: 0 }, { code: "EXECUTION_ERROR" }]);
});

test("a hub that keeps requesting output receives the outcome without sizes", async () => {
  const ends = refuseEnds(({ output: told }) => (told === undefined ? null : lost({ stdout: 0, stderr: 0 })));
  stage.hub.queue = [says("hello")];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
  expect(ends.map(({ output: told }) => told)).toEqual([
    { stdout: 5, stderr: 4 },
    { stdout: 5, stderr: 4 },
    { stdout: 5, stderr: 4 },
    undefined,
  ]);
});

test("a hub that writes another receipt from its parts receives the worker's text", async () => {
  const ends = refuseEnds(({ receipt_parts: parts }) =>
    parts === undefined ? null : wrongField("receipt_parts.sha256"),
  );
  stage.hub.queue = [says("hello")];
  await start(stage);
  const { receipt } = (await endingOf(stage, 1)) as unknown as { receipt: string };
  expect(JSON.parse(receipt)).toMatchObject({ exit_code: 0, job_id: testJobId(1) });
  const [parted] = ends as unknown as { receipt_parts: { sha256: string } }[];
  expect(ends).toHaveLength(2);
  expect(sha256Hex(receipt)).toBe(parted!.receipt_parts.sha256);
});

test("a field that the hub refuses turns the result into a failure with that reason", async () => {
  const ends = refuseEnds(({ code }) => (code === undefined ? wrongField("output") : null));
  stage.hub.queue = [says("hello")];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({
    code: "EXECUTION_ERROR",
    reason: expect.stringContaining("the hub refused the result: INVALID_ARGUMENT: output"),
  });
  expect(ends).toHaveLength(2);
});

test("a hub that refuses output that it has lost receives the sizes that it has, also in the receipt", async () => {
  const ends = refuseEnds(() => (ends.length === 0 ? forget("he") : null));
  const refuseRest = stage.hub.intercept;
  stage.hub.intercept = (call) =>
    call.path.endsWith("stdout?offset=2")
      ? { status: 413, body: { error: { code: "TOO_LARGE", message: "", request_id: "" } } }
      : refuseRest(call);
  stage.hub.queue = [says("hello")];
  await start(stage);
  const ending = await endingOf(stage, 1);
  expect(ending).toMatchObject({ exit_code: 0, output: { stdout: 2, stderr: 4 } });
  expect(ending["receipt_parts"]).toMatchObject({
    stdout_sha256: sha256Hex("he"),
    stderr_sha256: sha256Hex("oops"),
  });
});

test("output that the hub refuses after the end counts as OUTPUT_LIMIT, as during the run", async () => {
  const tooLarge = { code: "TOO_LARGE", message: "", request_id: "" };
  stage.hub.intercept = ({ path, body }) => {
    if (path.includes("/output/stdout")) return { status: 413, body: { error: tooLarge } };
    const [end] = path === "/jobs/results" ? (body as { items: [Ending] }).items : [];
    if (end === undefined || !("small_output" in end)) return undefined;
    return { status: 200, body: { items: [{ job_id: end.job_id, error: { ...tooLarge, details: {} } }] } };
  };
  stage.hub.queue = [says("hello")];
  await start(stage);
  const ending = await endingOf(stage, 1);
  expect(ending).toMatchObject({ code: "EXECUTION_ERROR", detail: "OUTPUT_LIMIT" });
  // On a busy machine the output may be sent, and refused, before the end is seen; then there is no such field.
  expect((ending as { partial_result?: unknown }).partial_result ?? null).toBeNull();
  expect(ending).toMatchObject({ output: { stdout: 0, stderr: 4 } });
  expect(ending).not.toHaveProperty("exit_code");
  // One after the other: this hub answers for one end in a call, and two that end together share theirs.
  stage.hub.queue = [exec(2, ["sh", "-c", "printf hello; exit 3"])];
  stage.hub.command("work");
  expect(await endingOf(stage, 2)).toMatchObject({ detail: "WORKER_EXIT_ERROR", exit_code: 3 });
});

test("a hub that has lost output receives the rest from the worker's copy, and then the same end again", async () => {
  const copy = join(stage.home, "work", "jobs", testJobId(1), "1", "stdout.log");
  const ends = refuseEnds(() => {
    if (ends.length > 0) return null;
    expect(existsSync(copy)).toBe(true);
    return forget("he");
  });
  stage.hub.queue = [says("hello")];
  await start(stage);
  expect(await endingOf(stage, 1)).toMatchObject({ exit_code: 0 });
  expect(ends).toHaveLength(2);
  expect(ends[1]).toEqual(ends[0]);
  expect(output(stage, 1)).toBe("hello");
  expect(output(stage, 1, "stderr")).toBe("oops");
  // Only what was missing goes over the wire again.
  expect(stage.hub.pathsOf(/output/).at(-1)).toContain("stdout?offset=2");
  await stage.worker!.stop();
  expect(existsSync(copy)).toBe(false);
});

test("the log of a function is sent again too, and a function without a log reports no sizes", async () => {
  const ends = refuseEnds(() => (ends.length === 0 ? forget("") : null));
  stage.hub.queue = [testJob(1, { kind: "handler" }, { document: { type: "log" } })];
  await start(stage, { handlers: { log: (_, context) => context.log("heard"), still: () => 1 } });
  expect(await endingOf(stage, 1)).toMatchObject({ output: { stdout: 6, stderr: 0 } });
  expect(output(stage, 1)).toBe("heard\n");
  stage.hub.queue = [testJob(2, { kind: "handler" }, { document: { type: "still" } })];
  stage.hub.command("work");
  expect(await endingOf(stage, 2)).not.toHaveProperty("output");
});

type Refusal = { code: string; message: string; details: object };

/**
 * Answers ends with what `judge` says to each of them, as long as it refuses; gives all that were told. It allows no
 * output in an end, so all of it is sent before.
 */
function refuseEnds(judge: (end: Ending) => Refusal | null): Ending[] {
  const ends: Ending[] = [];
  stage.hub.intercept = ({ path, body }: Call) => {
    if (path !== "/jobs/results") return undefined;
    const [end] = (body as { items: Ending[] }).items;
    // The row of a function.
    if (end === undefined) return undefined;
    if ("small_output" in end)
      return { status: 200, body: { items: [{ job_id: end.job_id, error: tooLarge }] } };
    const error = judge(end);
    ends.push(end);
    return error === null ? undefined : { status: 200, body: { items: [{ job_id: end.job_id, error }] } };
  };
  return ends;
}

const tooLarge: Refusal = { code: "TOO_LARGE", message: "", details: {} };

function wrongField(path: string): Refusal {
  const message = "must be another";
  return {
    code: "INVALID_ARGUMENT",
    message: `${path}: ${message}`,
    details: { issues: [{ path, message }] },
  };
}

/** The hub has only this much of stdout left, and says so. */
function forget(stdout: string): Refusal {
  stage.hub.outputs.set(`${testJobId(1)}/output/stdout`, Buffer.from(stdout));
  return lost({ stdout: stdout.length, stderr: 4 });
}

function lost(has: { stdout: number; stderr: number }): Refusal {
  return { code: "OUTPUT_INCOMPLETE", message: "", details: { output: has } };
}
