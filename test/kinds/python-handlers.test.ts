import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { startTestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

// One slot: a handler that ends its thread would leave no thread for the next job.
const program = `
import sys
from writ import JobError, Worker
worker = Worker(worker_id="python", slots=1)

class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

@worker.handle("py.end")
def end(params, job):
    how = params["how"]
    if how == "exit": sys.exit(3)
    if how == "partial": raise JobError("half done", partial_result={1, 2})
    if how == "reason": raise JobError(ValueError("not a text"))
    if how == "surrogate": raise ValueError("no file \\udcff")
    if how == "code": raise JobError("mine", "MY_CODE")
    if how == "unspeakable": raise Unspeakable()
    return how
worker.run()`;

const endings = [
  ["exit", "SystemExit: 3"],
  ["partial", "JobError, which cannot be reported: set is not JSON"],
  ["reason", "not a text"],
  ["surrogate", "ValueError: no file ?"],
  ["code", "mine"],
  ["unspeakable", "Unspeakable, which cannot be reported: no words"],
] as const;

test.runIf(hasPython)(
  `whatever a Python handler does, its job ends and its slot stays${pythonNote}`,
  async () => {
    const dir = mkdtempSync(join(tmpdir(), "writ-python-handlers-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const hub = await startTestHub();
    onTestFinished(() => hub.stop());
    const writ = new Writ({ url: hub.url, token: hub.admin });
    onTestFinished(() => writ.close());
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
    const env = pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: hub.url,
      WRIT_TOKEN: hub.admin,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });
    const worker = spawn("python3", ["-u", "-c", program], { env, cwd: dir, stdio: "ignore" });
    onTestFinished(async () => {
      if (worker.exitCode === null && worker.kill("SIGTERM")) await once(worker, "exit");
    });
    for (const [how, reason] of endings) {
      const { id } = await writ.submit({ type: "py.end", params: { how }, max_attempts: 1 });
      const job = await writ.wait(id);
      expect([how, job.status, job.fail_history.at(-1)]).toEqual([
        how,
        "failed",
        expect.objectContaining({ code: "EXECUTION_ERROR", reason }),
      ]);
    }
    const { id } = await writ.submit({ type: "py.end", params: { how: "well" } });
    expect(await writ.wait(id)).toMatchObject({ status: "completed", attempts: 1, result: "well" });
  },
);
