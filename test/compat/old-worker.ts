import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { TestHub } from "../support/hub.ts";
import { removeHome } from "../support/remove-home.ts";
import { activeKey } from "../support/worker.ts";

const bundle = join(import.meta.dirname, "fixtures/worker-437f1bc.cjs.gz");

export type OldWorker = { workerId: string; stop(): Promise<void> };

/** A worker of version 0.1 in a process of its own, with a session, a handler command and a handler function. */
export function startOldWorker(hub: TestHub): OldWorker {
  const home = mkdtempSync(join(tmpdir(), "writ-old-worker-"));
  const program = join(home, "worker.cjs");
  const config = join(home, "agents.yaml");
  writeFileSync(program, gunzipSync(readFileSync(bundle)));
  writeFileSync(config, JSON.stringify(agentsFile(hub)), { mode: 0o600 });
  const env = { PATH: process.env["PATH"] };
  const child = spawn(process.execPath, [program, config, home], {
    stdio: ["ignore", "ignore", "inherit"],
    env,
  });
  return {
    workerId: "old",
    async stop() {
      await ended(child);
      removeHome(home);
    },
  };
}

/** YAML takes JSON. */
function agentsFile(hub: TestHub): object {
  return {
    server: { url: hub.url, worker_token: hub.admin, worker_id: "old", poll_interval: 0.05 },
    security: { job_signing_public_key: activeKey(hub).publicKeyPem },
    execution: {
      isolation: "none",
      slots: 1,
      agents: [{ name: "claude-code", session: "tmux:one" }],
      handlers: { "old.greet": ["sh", "-c", 'cat "$JOB_INPUT_FILE" > "$JOB_RESULT_FILE"'] },
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exited;
}
