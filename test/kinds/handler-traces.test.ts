import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { codeOfWork, writCodes } from "../../src/core/jobs/failure.ts";
import { warningLogger } from "../../src/runtime/log/logger.ts";
import { Worker } from "../../src/worker/index.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { hubForAll } from "../support/use-hub.ts";
import { activeKey } from "../support/worker.ts";

const hub = hubForAll();
const dir = mkdtempSync(join(tmpdir(), "writ-traces-"));
let writ: Writ;

beforeAll(() => {
  writ = new Writ({ url: hub.url, token: hub.admin });
  writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
});
afterAll(() => {
  writ?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A job that is over, with its output. */
async function ended(type: string, how: string) {
  const { id } = await writ.submit({ type, params: { how }, max_attempts: 1 });
  const job = await writ.wait(id);
  const read = async (stream: "stdout" | "stderr") => {
    const pieces = await Array.fromAsync(writ.streamOutput(id, { stream, follow: false }));
    return Buffer.concat(pieces).toString();
  };
  const [stdout, stderr] = [await read("stdout"), await read("stderr")];
  const receipt = JSON.parse((await writ.receipt(id)).receipt) as Record<string, unknown>;
  expect([receipt["stdout_sha256"], receipt["stderr_sha256"]]).toEqual([sha256(stdout), sha256(stderr)]);
  return { id, job, reason: job.fail_history.at(-1)?.reason, stdout, stderr };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function cardDeclined(): never {
  throw Object.assign(new Error("the card was declined\nby the bank"), { code: "CARD_DECLINED" });
}

test("O-21 a function's exception leaves its trace in stderr, its code as the detail, and one warning", async () => {
  const warnings: string[] = [];
  const worker = new Worker({
    url: hub.url,
    token: hub.admin,
    workerId: "tracing",
    dataDir: join(dir, "worker"),
    logger: warningLogger((line) => warnings.push(line)),
  });
  worker.handle("ts.pay", ({ params }, { log }) => {
    const { how } = params as { how: string };
    if (how === "well") return how;
    if (how === "logged") log("asking the bank");
    return cardDeclined();
  });
  await worker.start();
  onTestFinished(() => worker.stop());

  const ids: string[] = [];
  for (const how of ["silent", "logged"]) {
    const end = await ended("ts.pay", how);
    ids.push(end.id);
    expect(end.job).toMatchObject({
      status: "failed",
      fail_code: "EXECUTION_ERROR",
      fail_detail: "CARD_DECLINED",
    });
    expect(end.reason).toBe("the card was declined\nby the bank");
    expect(end.stderr).toMatch(/^Error: the card was declined\nby the bank\n +at cardDeclined \(/);
    expect(end.stdout).toBe(how === "logged" ? "asking the bank\n" : "");
  }
  expect(warnings).toEqual(
    ids.map(
      (id) => `the handler of ts.pay failed in job ${id}, attempt 1: the card was declined | by the bank`,
    ),
  );
  expect(await ended("ts.pay", "well")).toMatchObject({ job: { status: "completed" }, stderr: "" });
});

const program = `
from writ import JobError, Worker
worker = Worker(worker_id="python", slots=1)

class Declined(Exception):
    code = "CARD_DECLINED"

def ask_bank():
    raise Declined("the card was declined")

@worker.handle("py.pay")
def pay(params, job):
    if params["how"] == "well": return "well"
    if params["how"] == "logged": job.write("asking the bank\\n")
    if params["how"] == "code": raise JobError("the card was declined", "CARD_DECLINED")
    ask_bank()
worker.run()`;

test.runIf(hasPython)(
  `O-21 a Python exception leaves its trace in stderr, its code as the detail, and one warning${pythonNote}`,
  async () => {
    const env = pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: hub.url,
      WRIT_TOKEN: hub.admin,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });
    const child = spawn("python3", ["-u", "-c", program], {
      env,
      cwd: dir,
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(async () => {
      if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
    });
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      printed += piece;
    });
    const reasons = { silent: "Declined: the card was declined", code: "the card was declined" };
    for (const how of ["silent", "logged", "code"]) {
      const end = await ended("py.pay", how);
      expect(end.job).toMatchObject({
        status: "failed",
        fail_code: "EXECUTION_ERROR",
        fail_detail: "CARD_DECLINED",
      });
      expect(end.reason).toBe(how === "code" ? reasons.code : reasons.silent);
      expect(end.stderr).toMatch(
        /^Traceback .*\n {2}File "<string>", line \d+, in pay\n[\s\S]*: the card was declined\n$/,
      );
      expect(end.stderr).not.toContain("attempts.py");
      expect(end.stdout).toBe(how === "logged" ? "asking the bank\n" : "");
      expect(printed).toContain(`warning: the handler of py.pay failed in job ${end.id}, attempt 1: `);
    }
    expect(printed.trim().split("\n")).toHaveLength(3);
    expect(await ended("py.pay", "well")).toMatchObject({ job: { status: "completed" }, stderr: "" });
  },
);

test.runIf(hasPython)(`O-21 the Python package knows the failure codes of the hub${pythonNote}`, async () => {
  const code =
    "import json; from writ.failure import handler_codes, writ_codes; print(json.dumps([sorted(handler_codes), sorted(writ_codes)]))";
  const child = spawn("python3", ["-c", code], { env: pythonEnv({}), stdio: ["ignore", "pipe", "inherit"] });
  const text = Buffer.concat(await Array.fromAsync(child.stdout)).toString();
  const isForHandlers = (known: string) => codeOfWork(known) !== undefined;
  expect(JSON.parse(text)).toEqual([
    writCodes.filter(isForHandlers).sort(),
    writCodes.filter((known) => !isForHandlers(known)).sort(),
  ]);
});

test.runIf(hasPython)(
  `O-10 a Python exception with a code of Writ's own is a failure of its work${pythonNote}`,
  async () => {
    const code = `
import json
from writ import Final, JobError
from writ.failure import ending_of
class Odd(Exception):
    code = "REPLAY"
raised = [JobError("e", "INVALID_SIGNATURE"), JobError("e", "KEY_NOT_TRUSTED"), Final("e", "REPLAY"), Odd("e"), JobError("e", "TIMEOUT")]
print(json.dumps([ending_of(one) for one in raised]))`;
    const child = spawn("python3", ["-c", code], {
      env: pythonEnv({}),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const text = Buffer.concat(await Array.fromAsync(child.stdout)).toString();
    const plain = { reason: "e", code: "EXECUTION_ERROR" };
    expect(JSON.parse(text)).toEqual([
      plain,
      plain,
      { ...plain, final: true },
      { ...plain, reason: "Odd: e" },
      { ...plain, code: "TIMEOUT" },
    ]);
  },
);
