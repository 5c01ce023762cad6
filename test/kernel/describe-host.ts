import { systemClock } from "../../src/runtime/clock/clock.ts";
import { silentLogger } from "../../src/runtime/log/logger.ts";
import { examineCage } from "../../src/sandbox/host/examine-cage.ts";
import { openSandbox } from "../../src/worker/processes/open-sandbox.ts";
import { loadWorkerSettings } from "../../src/worker/settings.ts";

/** `describe-host.ts DIR UID`: what a worker of this user says at its start, what strict says, and what the doctor says. */
const [home, user] = process.argv.slice(2) as [string, string];
process.setgroups!([]);
process.setgid!(Number(user));
process.setuid!(Number(user));
const uid = process.getuid!();

const env = { HUB_URL: "http://127.0.0.1:1", WRIT_TOKEN: "sk_worker_x", WRIT_WORK_DIR: home };
const loaded = await loadWorkerSettings({ env, home, hostName: "host" });

async function open(isolation: "best-effort" | "strict") {
  const settings = { ...loaded, execution: { ...loaded.execution, isolation } };
  const opened = await openSandbox({
    settings,
    logger: silentLogger,
    clock: systemClock,
    mayMove: false,
    uid,
  });
  await opened.sandbox.close();
  return opened;
}

const { warnings } = await open("best-effort");
const strictObstacle = (await open("strict")).sandbox.obstacle;
const { summary } = await examineCage({ workDir: home, pid: process.pid, uid });
console.log(JSON.stringify({ warnings, strictObstacle, summary }));
