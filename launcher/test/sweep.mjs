import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  frame,
  jailMounts,
  LauncherClient,
  mountFlag,
  mountKind,
  planFields,
  protectAll,
} from "./launcher-client.mjs";

/**
 * `node launcher/test/sweep.mjs <writ-launcher> [--user] [errno…]`: makes the Nth call of each kind fail, for every N that
 * occurs in a start, and looks from outside at what runs then. Either the job has every protection that it has
 * without the fault, or it does not run. As root, with strace. With --user the launcher is an ordinary user's.
 */
const [launcherFile, ...words] = process.argv.slice(2);
const isUsers = words.includes("--user");
const errors = words.filter((word) => word !== "--user");
/** A user without rights. */
const userId = 4711;
const scratch = mkdtempSync(join(tmpdir(), "writ-sweep-"));
const hierarchy = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((root) =>
  existsSync(join(root, "cgroup.procs")),
);
if (hierarchy === undefined) throw new Error("not capable: no cgroup v2");
const cgroupRoot = join(hierarchy, `writ-sweep-${process.pid}`);
const workDir = join(scratch, "work");
mkdirSync(workDir);
mkdirSync(cgroupRoot);
const repo = join(scratch, "repo");
mkdirSync(join(repo, "src"), { recursive: true });
const owner = isUsers ? userId : 1234;
chownSync(join(repo, "src"), owner, owner);
const mounts = [
  ...jailMounts(workDir),
  { kind: mountKind.job, target: "/repo", source: repo },
  {
    kind: mountKind.job,
    flags: mountFlag.writable | mountFlag.idmap,
    uid: owner,
    gid: owner,
    target: "/repo/src",
    source: join(repo, "src"),
  },
];
// A program that does nothing and loads nothing: whatever is seen of it is the launcher's doing.
writeFileSync(join(scratch, "idle.c"), "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n");
execFileSync("cc", ["-static", "-o", join(workDir, "idle"), join(scratch, "idle.c")]);
if (isUsers) for (const path of [scratch, workDir, join(workDir, "idle")]) chownSync(path, userId, userId);
// Calls of the C library's own start and of leaving; a launcher that fails there has not begun, or is done.
const ignored = new Set([
  "exit_group",
  "exit",
  "execve",
  "arch_prctl",
  "brk",
  "set_tid_address",
  "set_robust_list",
  "rseq",
]);
/** A start takes milliseconds, under strace and on a busy machine perhaps a second; what hangs does so for ever. */
const hangsMs = 120_000;
/** RLIMIT_NPROC */
const nprocLimit = 6;
let next = 1;

/**
 * One start with a fault: what came of it, and what the job was like if there was one. Strace counts the calls of
 * each process by itself: `cold` from the launcher's first, `warm` from a moment when it has started a job before,
 * so that the faults reach the cage and the job and do not all end in the launcher's own beginning.
 */
async function start(strace, isWarm) {
  const id = next++;
  const cgroup = join(cgroupRoot, `${id}`);
  mkdirSync(cgroup);
  const plan = {
    argv: ["./idle"],
    cwd: "/work",
    hostname: "job",
    protections: protectAll,
    mounts,
    // Without root there is none, and processes are counted in a namespace of the job's own.
    ...(isUsers ? { rlimits: [[nprocLimit, 64, 64]] } : { cgroup }),
    giveDir: workDir,
    masks: ["hunter22"],
  };
  const files = { stdout: join(scratch, `${id}.out`), stderr: join(scratch, `${id}.err`) };
  const wrap = [...(isUsers ? asUser(cgroup) : []), ...(isWarm ? [] : strace)];
  const client = new LauncherClient(launcherFile, { wrap, stderr: "ignore" });
  const tracer = isWarm ? await attach(client, strace, plan) : undefined;
  if (!isUsers) chownSync(workDir, 0, 0);
  client.send(frame.start, id, planFields({ ...plan, ...files }));
  const deadline = Promise.withResolvers();
  const timer = setTimeout(deadline.resolve, hangsMs, { hangs: true });
  const answer = await Promise.race([
    client.wait(id, frame.started, frame.failed),
    client.exited.then((exit) => ({ exit })),
    deadline.promise,
  ]);
  clearTimeout(timer);
  const facts = lookAtJob(cgroup);
  client.socket.destroy();
  if (answer.hangs) client.child.kill("SIGKILL");
  await client.exited;
  if (tracer !== undefined)
    await new Promise((resolve) => (tracer.exitCode !== null ? resolve() : tracer.on("exit", resolve)));
  writeFileSync(join(cgroup, "cgroup.kill"), "1");
  await remove(cgroup);
  return { answer, facts };
}

/** The launcher of an ordinary user, and all that it starts, in a cgroup by which we find its job. */
function asUser(cgroup) {
  const ids = ["--reuid", userId, "--regid", userId, "--clear-groups"].map(String);
  return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', cgroup, "setpriv", ...ids];
}

async function attach(client, [command, ...args], plan) {
  const id = next++;
  await client.run(id, {
    ...plan,
    argv: ["true"],
    stdout: join(scratch, `${id}.out`),
    stderr: join(scratch, `${id}.err`),
  });
  const tracer = spawn(command, [...args, "-p", `${client.child.pid}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  await new Promise((resolve) => tracer.stderr.once("data", resolve));
  return tracer;
}

/** The job is whatever runs the job's program; a launcher's child that has not executed it yet is no job. */
function lookAtJob(cgroup) {
  const pids = readFileSync(join(cgroup, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
  for (const pid of pids) {
    try {
      if (!readlinkSync(`/proc/${pid}/exe`).endsWith("/idle")) continue;
      return describe(pid);
    } catch (error) {
      // It has gone meanwhile: what is not there any more cannot be looked at, and did not last.
      const isGone = ["ENOENT", "ESRCH", "EINVAL"].includes(error.code) || error.status !== undefined;
      if (!isGone) throw error;
    }
  }
  return null;
}

function describe(pid) {
  const read = (name) => readFileSync(`/proc/${pid}/${name}`, "utf8");
  const wanted = /^(Uid|Gid|Groups|NSpid|NSsid|Sig(Blk|Ign)|Cap...|NoNewPrivs|Seccomp(_filters)?|Umask):/;
  const status = read("status")
    .split("\n")
    .filter((line) => wanted.test(line) && !line.startsWith("NSsid"));
  const names = ["pid", "mnt", "ipc", "uts", "net", "cgroup", "user"];
  const shared = names.filter(
    (name) => readlinkSync(`/proc/${pid}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`),
  );
  const mountLines = read("mountinfo")
    .split("\n")
    .map((line) => line.split(" ").slice(3).join(" "));
  const limits = read("limits")
    .split("\n")
    .filter((line) => /core|open files|processes/.test(line));
  const stat = read("stat")
    .slice(read("stat").lastIndexOf(")") + 2)
    .split(" ");
  // The first number of NSpid is the host's and differs each time.
  const facts = {
    owner: statSync(workDir).uid,
    status: status.map((line) => line.replace(/^NSpid:\t\d+/, "NSpid:")),
    shared,
    mounts: mountLines,
    limits,
  };
  return JSON.stringify({
    ...facts,
    fds: readdirSync(`/proc/${pid}/fd`).join(),
    cwd: readlinkSync(`/proc/${pid}/cwd`),
    tty: stat[4],
    leads: stat[3] === pid && stat[2] === pid,
    hostname: execFileSync("nsenter", ["-u", "-t", pid, "hostname"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
    loopback: read("net/dev").includes("lo:"),
  });
}

function differences(facts) {
  const [seen, wanted] = [JSON.parse(facts ?? "{}"), JSON.parse(reference)];
  const other = Object.keys(wanted).filter(
    (name) => JSON.stringify(seen[name]) !== JSON.stringify(wanted[name]),
  );
  return JSON.stringify(other.map((name) => ({ name, seen: seen[name], wanted: wanted[name] })));
}

async function remove(cgroup) {
  for (let tries = 0; ; tries++) {
    try {
      return rmdirSync(cgroup);
    } catch (error) {
      if (tries > 30_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** For each call the most that one process makes of it, since strace counts each process by itself. */
async function countCalls(isWarm) {
  const log = join(scratch, `calls-${isWarm}`);
  await start(["strace", "-f", "-o", log], isWarm);
  const counts = new Map();
  const most = new Map();
  for (const line of readFileSync(log, "utf8").split("\n")) {
    const [, pid, name] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (name === undefined || ignored.has(name)) continue;
    const count = (counts.get(`${pid} ${name}`) ?? 0) + 1;
    counts.set(`${pid} ${name}`, count);
    most.set(name, Math.max(most.get(name) ?? 0, count));
  }
  return most;
}

const reference = (await start(["strace", "-f", "-o", "/dev/null"], false)).facts;
const again = (await start([], false)).facts;
if (reference === null || reference !== again)
  throw new Error(`a start is not like another:\n${reference}\n${again}`);
const totals = { runs: 0, "ran with everything": 0, "did not run": 0, HALF: 0, HANGS: 0 };
const steps = new Map();
for (const isWarm of [false, true]) {
  const calls = await countCalls(isWarm);
  console.log(isWarm ? "warm:" : "cold:", [...calls].map(([name, most]) => `${name}×${most}`).join(" "));
  for (const error of errors.length > 0 ? errors : ["EPERM"]) await sweep(calls, error, isWarm);
}
console.log(JSON.stringify(Object.fromEntries(steps)));
console.log(JSON.stringify(totals));
rmdirSync(cgroupRoot);
rmSync(scratch, { recursive: true, force: true });
process.exitCode = totals.HALF + totals.HANGS === 0 ? 0 : 1;

async function sweep(calls, error, isWarm) {
  for (const [name, most] of calls) {
    for (let nth = 1; nth <= most; nth++) {
      const fault = ["-e", `trace=${name}`, "-e", `inject=${name}:error=${error}:when=${nth}`];
      const { answer, facts } = await start(["strace", "-f", "-o", "/dev/null", ...fault], isWarm);
      const verdict = judge(answer, facts);
      totals.runs += 1;
      totals[verdict] += 1;
      const how =
        answer.step ?? (answer.exit ? `launcher ended ${answer.exit.code ?? answer.exit.signal}` : "started");
      steps.set(how, (steps.get(how) ?? 0) + 1);
      if (verdict !== verdict.toUpperCase()) continue;
      console.log(`${verdict}: ${name} #${nth} ${error} ${JSON.stringify(answer)} ${differences(facts)}`);
    }
  }
}

function judge(answer, facts) {
  if (answer.hangs) return "HANGS";
  if (facts === null) return "did not run";
  return facts === reference ? "ran with everything" : "HALF";
}
