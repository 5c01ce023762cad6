import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jailMounts, LauncherClient, protect, protectAll } from "./launcher-client.mjs";

/**
 * By hand: `node launcher/test/drive.mjs <writ-launcher> bench [starts]` measures caged starts a second beside
 * child_process.spawn; `… run <command> [args]` runs one command in a full cage and shows what came of it.
 */
const [launcherFile, act = "bench", ...rest] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "writ-drive-"));
const cgroup = makeCgroup();
const client = new LauncherClient(launcherFile);
let next = 1;

const workDir = join(scratch, "work");
mkdirSync(workDir);
chmodSync(workDir, 0o777);
const mounts = jailMounts(workDir);

function plan(argv, more = {}) {
  const id = next++;
  const files = { stdout: join(scratch, `${id}.out`), stderr: join(scratch, `${id}.err`) };
  return {
    id,
    argv,
    cwd: "/work",
    hostname: "job",
    protections: protectAll,
    mounts,
    cgroup,
    ...files,
    ...more,
  };
}

async function bench(count) {
  const network = protectAll & ~protect.net;
  for (const inFlight of [1, 8, 32]) {
    const rates = [];
    for (let round = 0; round < 3; round++) {
      const uncaged = await rate(count, inFlight, spawnTrue);
      const caged = await rate(count, inFlight, () => start(plan(["/bin/true"], { protections: network })));
      const cut = await rate(count, inFlight, () => start(plan(["/bin/true"])));
      rates.push({ uncaged, caged, cut });
    }
    const best = (name) => Math.round(Math.max(...rates.map((round) => round[name])));
    console.log(
      `${inFlight} in flight: uncaged child_process.spawn ${best("uncaged")}/s, caged ${best("caged")}/s, caged without network ${best("cut")}/s`,
    );
  }
}

async function start(one) {
  const end = await client.run(one.id, one);
  if (end.exitCode !== 0) throw new Error(JSON.stringify(end));
}

function spawnTrue() {
  return new Promise((resolve) =>
    spawn("/bin/true", { stdio: ["ignore", "pipe", "pipe"] }).on("close", resolve),
  );
}

async function rate(count, inFlight, once) {
  let left = count;
  const startedAt = performance.now();
  const lane = async () => {
    while (left-- > 0) await once();
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return count / ((performance.now() - startedAt) / 1000);
}

/** The host's v2 hierarchy, wherever it is; without one the jobs are born in our own cgroup. */
function makeCgroup() {
  for (const root of ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) {
    const directory = join(root, `writ-drive-${process.pid}`);
    try {
      mkdirSync(directory);
      return directory;
    } catch {}
  }
  return undefined;
}

try {
  if (act === "bench") await bench(Number(rest[0] ?? 300));
  else {
    const one = plan(rest);
    console.log(await client.run(one.id, one));
    spawn("sh", ["-c", `cat ${one.stdout}; cat ${one.stderr} >&2`], { stdio: "inherit" });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
} finally {
  client.socket.destroy();
  await client.exited;
  rmSync(scratch, { recursive: true, force: true });
  if (cgroup !== undefined) rmdirSync(cgroup);
}
