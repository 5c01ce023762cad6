import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startTestHub } from "../support/hub.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { activeKey } from "../support/worker.ts";

// Its claims and its heartbeats wait longer than the test may take.
const program = `
import writ.claims, writ.worker
writ.claims.claim_wait_ms = writ.worker.claim_wait_ms = 30_000
writ.worker.beat_sec_max = 100.0
beat = writ.worker.Worker._send_beat
def tell(worker):
    answer = beat(worker)
    print("has reported", flush=True)
    return answer
writ.worker.Worker._send_beat = tell
worker = writ.worker.Worker(worker_id="python", slots=2)

@worker.handle("py.none")
def none(params, job):
    return None
worker.run()`;

test.runIf(hasPython)(
  `an idle Python worker that is told to stop does not wait for its claim${pythonNote}`,
  { timeout: 25_000 },
  async () => {
    const dir = mkdtempSync(join(tmpdir(), "writ-python-stop-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const hub = await startTestHub({ WRIT_LEASE_MS: "300000" });
    onTestFinished(() => hub.stop());
    writeFileSync(join(dir, "keys.pem"), activeKey(hub).publicKeyPem);
    const env = pythonEnv({
      HOME: dir,
      WRIT_HUB_URL: hub.url,
      WRIT_TOKEN: hub.admin,
      WRIT_SIGNING_KEYS_FILE: join(dir, "keys.pem"),
    });
    const worker = spawn("python3", ["-u", "-c", program], {
      env,
      cwd: dir,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(worker, "exit");
    onTestFinished(() => void worker.kill("SIGKILL"));
    await once(worker.stdout, "data");
    worker.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
  },
);
