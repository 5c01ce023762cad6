import { setMaxListeners } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { Worker } from "../worker/index.ts";
import { defineJob } from "./index.ts";
import { jobIdNumber, jobView, sendJson, startTinyHub } from "./testing/tiny-hub.ts";
import { Writ } from "./writ.ts";

const job = defineJob("any");
const id = jobIdNumber(1);

async function open() {
  const hub = await startTinyHub((_, response) => sendJson(response, 200, jobView({ status: "completed" })));
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return { hub, writ };
}

/** As a program in JavaScript calls it: nothing checks the names. */
function untyped(names: object): never {
  return names as never;
}

test("run refuses a delay beside its own options, and says where it belongs", async () => {
  const { hub, writ } = await open();
  await expect(writ.run(job, {}, untyped({ delay: "5m" }))).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      "delay: is not an option of run; write { submit: { delay } }; allowed: signal, timeoutMs, onEvent, onTrouble, submit",
  });
  expect(hub.seen).toEqual([]);
});

const calls: [string, (writ: Writ) => unknown, string][] = [
  ["run", (writ) => writ.run(job, {}, untyped({ timeout: 1 })), "timeout: is not an option of run"],
  ["wait", (writ) => writ.wait(id, untyped({ timeoutms: 1 })), "did you mean timeoutMs?"],
  ["waitAll", (writ) => writ.waitAll([id], untyped({ delay: "1s" })), "delay: is not an option of waitAll"],
  ["results", (writ) => writ.results([id], untyped({ x: 1 })).next(), "x: is not an option of results"],
  [
    "results of a definition",
    (writ) => writ.results(job, [id], untyped({ x: 1 })).next(),
    "x: is not an option of results",
  ],
  ["submit", (writ) => writ.submit(job, {}, untyped({ delai: "1s" })), "did you mean delay?"],
  [
    "submit in run",
    (writ) => writ.run(job, {}, { submit: untyped({ timeoutMs: 1 }) }),
    "timeoutMs: is not an option of submit",
  ],
  [
    "submitBatch",
    (writ) => writ.submitBatch(job, [{}], untyped({ maxAttempt: 1 })),
    "did you mean maxAttempts?",
  ],
  [
    "submit, of a name as the hub reads it",
    (writ) => writ.submit(job, {}, untyped({ max_attempts: 7 })),
    "max_attempts: is not an option of submit; did you mean maxAttempts?",
  ],
  [
    "changeJobs",
    (writ) => writ.changeJobs("cancel", untyped({ filter: { type: "precious" }, dryrun: true })),
    "dryrun: is not an option of changeJobs; did you mean dryRun? allowed: ids, filter, dryRun",
  ],
  [
    "changeJobs, in its filter,",
    (writ) => writ.changeJobs("cancel", { filter: untyped({ worker_id: "nosuch" }) }),
    "worker_id: is not an option of a filter of jobs; did you mean workerId? allowed: status, type, workerId",
  ],
  ["list", (writ) => writ.list(untyped({ tpye: "x" })).next(), "did you mean type?"],
  ["list, beside its filter,", (writ) => writ.list({}, untyped({ size: 5 })).next(), "allowed: pageSize"],
  ["listPage", (writ) => writ.listPage(untyped({ state: "failed" })), "state: is not an option of a filter"],
  [
    "listPage, beside its filter,",
    (writ) => writ.listPage({}, untyped({ pageSize: 5 })),
    "pageSize: is not an option of listPage",
  ],
  ["events", (writ) => writ.events(untyped({ job_id: id })).next(), "did you mean jobId?"],
  [
    "streamOutput",
    (writ) => writ.streamOutput(id, untyped({ strem: "stderr" })).next(),
    "did you mean stream?",
  ],
  ["why", (writ) => writ.why(id, untyped({ x: 1 })), "x: is not an option of why"],
  ["audit", (writ) => writ.audit({}, untyped({ limit: 1 })).next(), "limit: is not an option of audit"],
  [
    "files.upload",
    (writ) => writ.files.upload(Buffer.from("x"), untyped({ folder: "x" })),
    "folder: is not an option of upload; did you mean folderId?",
  ],
  [
    "files.input",
    (writ) => writ.files.input(Buffer.from("x"), untyped({ name: "x" })),
    "name: is not an option of input",
  ],
  [
    "files.download",
    (writ) => writ.files.download({ folder_id: "f", object_key: "k" }, "/nowhere/x", untyped({ sha: "x" })),
    "sha: is not an option of download",
  ],
  [
    "files.saveArtifacts",
    (writ) => writ.files.saveArtifacts(id, "/nowhere", untyped({ file: [] })),
    "file: is not an option of saveArtifacts; did you mean files?",
  ],
  [
    "files.hashArtifact",
    (writ) => writ.files.hashArtifact(id, untyped({}), untyped({ onprogress: 1 })),
    "did you mean onProgress?",
  ],
  ["Writ", () => new Writ(untyped({ adress: "x" })), "adress: is not an option of Writ"],
  ["Worker", () => new Worker(untyped({ slots: 2 })), "slots: is not an option of Worker"],
];

test.each(calls)("%s refuses an option that it does not have, by its name", async (_, call, message) => {
  const { hub, writ } = await open();
  const refused = expect((async () => call(writ))()).rejects;
  await refused.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(message) });
  expect(hub.seen).toEqual([]);
});

test("a field without a value in the filter of changeJobs is refused, because it would choose more jobs", async () => {
  const { hub, writ } = await open();
  await expect(writ.changeJobs("cancel", { filter: untyped({ type: undefined }) })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      "filter.type: is undefined, which would choose jobs with any value; give a value, or leave it out",
  });
  expect(hub.seen).toEqual([]);
});

test("many waits may share a signal without a warning", async () => {
  const { writ } = await open();
  const { signal } = new AbortController();
  // As in Node 20, where it is the default.
  setMaxListeners(10, signal);
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  await Promise.all(Array.from({ length: 12 }, () => writ.wait(id, { signal })));
  // A warning is emitted in the next turn.
  await new Promise(setImmediate);
  expect(warnings).toEqual([]);
});
