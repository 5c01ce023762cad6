import { createHash } from "node:crypto";
import {
  existsSync,
  openSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { builtLauncherFile } from "../../src/sandbox/launcher/launcher.ts";
import { eventually } from "../support/eventually.ts";
import {
  cageTest,
  cgroupOf,
  isOrdinaryUser,
  openSandbox,
  planJob,
  rootTest,
  runJob,
  runScript,
  setStage,
} from "./cage-stage.ts";

const stage = setStage();

cageTest(
  "a command that is not there, may not be executed, or is no program is the job's own fault",
  async () => {
    expect((await runJob(stage, ["no-such-command"])).spawnError).toMatchObject({ code: "ENOENT" });
    expect((await runJob(stage, ["/etc/passwd"])).spawnError).toMatchObject({ code: "EACCES" });
    expect((await runJob(stage, ["/no/such"])).spawnError).toMatchObject({ code: "ENOENT" });
  },
);

cageTest("a working directory that is not visible, or not there, is the job's own fault", async () => {
  expect((await runJob(stage, ["true"], { cwd: "/root" })).spawnError?.message).toContain("not visible");
  expect((await runJob(stage, ["true"], { cwd: "/work/none" })).spawnError?.message).toContain("ENOENT");
});

rootTest("a launcher that failed only when the worker started is used as soon as it works", async () => {
  const launcherFile = join(stage.dir, "launcher");
  const tried = join(stage.dir, "tried");
  const script = `[ -e ${tried} ] || { touch ${tried}; exit 1; }; exec ${builtLauncherFile}`;
  writeFileSync(launcherFile, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const sandbox = await openSandbox(stage.dir, { level: "best-effort", launcherFile });
  try {
    expect(sandbox.obstacle).toContain("there is no launcher");
    await eventually("the host passes", async () => (await sandbox.recheck()) === null);
    expect(sandbox.obstacle).toBe(null);
    expect(await runJob({ ...stage, sandbox }, ["true"])).toMatchObject({ exitCode: 0 });
  } finally {
    await sandbox.close();
  }
});

const shortage = "a shortage while the worker starts costs its jobs no part of their cages";
if (existsSync("/usr/bin/strace")) rootTest(shortage, failForks);
else test.skip(`${shortage} (not capable: no strace)`, failForks);

async function failForks(): Promise<void> {
  // The third process is the first cage; before it come those that make the map of an owner and the shared mounts.
  for (const call of [1, 3]) {
    const launcherFile = join(stage.dir, `launcher-${call}`);
    const strace = `strace -f -qq -o /dev/null -e inject=clone3:error=EAGAIN:when=${call}`;
    writeFileSync(launcherFile, `#!/bin/sh\nexec ${strace} ${builtLauncherFile}\n`, { mode: 0o755 });
    const sandbox = await openSandbox(stage.dir, { level: "best-effort", launcherFile });
    await sandbox.close();
    expect(sandbox.lacking).toEqual(stage.sandbox.lacking);
  }
}

cageTest("words that no process can be started from end nothing but their own job", async () => {
  const other = await stage.sandbox.start(planJob(stage, ["sleep", "60"]));
  expect((await runJob(stage, ["echo", "a\0b"])).spawnError).toMatchObject({ code: "EINVAL" });
  const large = await runJob(stage, ["echo", "x".repeat(5 * 1024 ** 2)]);
  expect(large.spawnError).toMatchObject({ code: "E2BIG" });
  expect((await runJob(stage, ["echo", "x".repeat(200_000)])).spawnError).toMatchObject({ code: "E2BIG" });
  await other.killTree();
  expect(await other.exited).toMatchObject({ signal: "SIGKILL" });
});

cageTest("exit codes and signals come back as they were", async () => {
  expect(await runScript(stage, "exit 7")).toMatchObject({ exitCode: 7, signal: null });
  expect(await runScript(stage, "kill -SEGV $$")).toMatchObject({ exitCode: null, signal: "SIGSEGV" });
});

cageTest("a job is the user nobody, without groups, capabilities or a way to get them", async () => {
  const { stdout } = await runScript(stage, "id -u; id -g; id -G; cat /proc/self/status");
  expect(stdout).toMatch(/^65534\n65534\n65534\n/);
  for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
    expect(stdout).toMatch(new RegExp(`^${set}:\\s+0{16}$`, "m"));
  }
  expect(stdout).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(stdout).toMatch(/^Seccomp:\s+2$/m);
});

cageTest("a job sees its own processes only, in namespaces of its own", async () => {
  const { stdout } = await runScript(
    stage,
    "ls -d /proc/[0-9]* | wc -l; for n in pid mnt ipc uts; do readlink /proc/self/ns/$n; done",
  );
  const [count, ...namespaces] = stdout.trim().split("\n");
  expect(Number(count)).toBeLessThan(6);
  for (const [index, name] of ["pid", "mnt", "ipc", "uts"].entries()) {
    const ours = readlinkSync(`/proc/self/ns/${name}`);
    expect(namespaces[index]).toMatch(new RegExp(`^${name}:\\[\\d+\\]$`));
    expect(namespaces[index]).not.toBe(ours);
  }
});

cageTest("the root holds programs, /etc what they need, and nothing else of the host", async () => {
  const { stdout } = await runScript(stage, "ls /; echo --; ls /etc; echo --; ls -A /work /tmp /dev/shm");
  const [root, etc, own] = stdout.split("--\n");
  expect(root!.split("\n").filter((name) => name !== "" && !/^lib/.test(name))).toEqual(
    expect.arrayContaining(["bin", "dev", "etc", "proc", "tmp", "usr", "work"]),
  );
  for (const secret of ["root", "home", "var", "run", "sys", "mnt"])
    expect(root).not.toMatch(new RegExp(`^${secret}$`, "m"));
  expect(etc).not.toMatch(/shadow|ssh/);
  expect(own).toBe("/dev/shm:\n\n/tmp:\n\n/work:\n");
});

cageTest(
  "A18: of the worker's disk a job learns the path of its own directory, and of no other",
  async () => {
    const { stdout, plan } = await runScript(stage, "cat /proc/self/mountinfo");
    const mounts = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    const ofWorker = mounts.filter(([, , , root]) => plan.workDir.endsWith(root!) && root !== "/");
    expect(ofWorker.map(([, , , , target]) => target)).toEqual(["/work"]);
    const others = mounts.filter((mount) => !ofWorker.includes(mount));
    expect(others.flat().filter((field) => field.includes(basename(stage.dir)))).toEqual([]);
  },
);

cageTest("only its own directory and /tmp can be written to", async () => {
  const script =
    "for d in / /usr /etc /dev /proc /bin; do touch $d/x 2>/dev/null && echo $d; done; echo a > /work/a; echo b > /tmp/b; cat /work/a /tmp/b";
  const { stdout, plan } = await runScript(stage, script);
  expect(stdout).toBe("a\nb\n");
  expect(statSync(join(plan.workDir, "a")).uid).toBe(isOrdinaryUser() ? process.getuid!() : 65_534);
});

cageTest("what the worker has put into the job's directory belongs to the job", async () => {
  const plan = planJob(stage, [
    "sh",
    "-c",
    "cat input.json; echo 1 >> input.json && ls -ln input.json | cut -d' ' -f3,4",
  ]);
  writeFileSync(join(plan.workDir, "input.json"), "{}\n", { mode: 0o600 });
  const running = await stage.sandbox.start(plan);
  expect(await running.exited).toMatchObject({ exitCode: 0 });
  expect(readFileSync(plan.stdoutFile, "utf8")).toBe("{}\n65534 65534\n");
});

cageTest("a link in the job's directory is not followed when it is given to the job", async () => {
  const canary = join(stage.dir, "canary");
  writeFileSync(canary, "mine");
  const plan = planJob(stage, ["true"]);
  symlinkSync(canary, join(plan.workDir, "link"));
  symlinkSync(stage.dir, join(plan.workDir, "dir"));
  await (await stage.sandbox.start(plan)).exited;
  expect(statSync(canary).uid).toBe(process.getuid!());
  expect(statSync(stage.dir).uid).toBe(process.getuid!());
});

cageTest("no descriptor of the worker is open in a job", async () => {
  const leaky = openSync("/etc/hostname", "r");
  const { stdout } = await runScript(stage, "ls /proc/$$/fd; readlink /proc/$$/fd/0");
  expect(stdout.trim().split("\n")).toEqual(["0", "1", "2", "/dev/null"]);
  expect(leaky).toBeGreaterThan(2);
});

cageTest("the environment is exactly what was given", async () => {
  const { stdout } = await runJob(stage, ["cat", "/proc/self/environ"], {
    env: { PATH: "/usr/bin", A: "1 2", B: "", C: "ü\nx" },
  });
  expect(stdout.split("\0").filter((entry) => entry !== "")).toEqual([
    "PATH=/usr/bin",
    "A=1 2",
    "B=",
    "C=ü\nx",
  ]);
});

cageTest("it has no terminal, leads its session, and writes no core files", async () => {
  const { stdout } = await runScript(
    stage,
    "cat /proc/$$/stat; ulimit -c; ulimit -n; test -t 0 || echo no tty",
  );
  const [stat, core, files, tty] = stdout.split("\n");
  const [, , group, session, terminal] = stat!.slice(stat!.lastIndexOf(")") + 2).split(" ");
  expect(group).toBe(session);
  expect(terminal).toBe("0");
  expect([core, Number(files) <= 1024, tty]).toEqual(["0", true, "no tty"]);
});

cageTest("with network none there is a loopback and nothing else", async () => {
  const { stdout } = await runScript(stage, "cat /proc/net/dev", { limitsText: { network: "none" } });
  const names = [...stdout.matchAll(/^\s*(\S+):/gm)].map(([, name]) => name);
  expect(names.filter((name) => name !== "lo" && !/^(sit|tunl|ip6|gre|erspan)/.test(name!))).toEqual([]);
});

cageTest("what a job says is kept to the byte, both streams apart", async () => {
  const script =
    "head -c 9000001 /dev/urandom | tee /work/said; head -c 70001 /dev/urandom | tee /work/erred >&2";
  const { plan, exitCode } = await runScript(stage, script);
  expect(exitCode).toBe(0);
  const hash = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");
  expect(hash(plan.stdoutFile)).toBe(hash(join(plan.workDir, "said")));
  expect(hash(plan.stderrFile)).toBe(hash(join(plan.workDir, "erred")));
});

cageTest("a job that says too much is ended, and exactly the allowed bytes are kept", async () => {
  const ran = await runScript(stage, "while :; do echo 0123456789; done", { outputBytesMax: 100_001 });
  expect(ran).toMatchObject({ outputLimited: true, signal: "SIGKILL" });
  expect(ran.stdout.length).toBe(100_001);
  const exact = await runScript(stage, "printf 12345", { outputBytesMax: 5 });
  expect(exact).toMatchObject({ outputLimited: false, exitCode: 0, stdout: "12345" });
});

cageTest("its use is counted, and its cgroup is gone when its end is told", async () => {
  const { usage, plan } = await runScript(stage, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
  expect(usage.cpu_ms).toBeGreaterThan(0);
  expect(usage.memory_peak_bytes).toBeGreaterThan(0);
  expect(usage).not.toHaveProperty("oom");
  const cgroup = cgroupOf(stage, plan);
  if (cgroup !== null) expect(existsSync(cgroup)).toBe(false);
});

cageTest("what a job has used is known while it runs, where a cgroup counts it", async () => {
  const script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo ready; sleep 60";
  const plan = planJob(stage, ["sh", "-c", script]);
  const running = await stage.sandbox.start(plan);
  try {
    await expect.poll(() => readFileSync(plan.stdoutFile, "utf8")).toBe("ready\n");
    if (cgroupOf(stage, plan) === null) expect(running.usage()).toEqual({});
    else expect(running.usage().cpu_ms).toBeGreaterThan(0);
  } finally {
    await running.killTree();
    await running.exited;
  }
});

cageTest("B11: the probe of a job names the cgroup in which it then runs", async () => {
  const plan = planJob(stage, ["cat", "/proc/self/cgroup"]);
  const { cgroup, applied } = await stage.sandbox.probe(plan);
  expect(cgroup ?? null).toBe(applied.includes("cgroup") ? cgroupOf(stage, plan) : null);
  expect(await stage.sandbox.probe({ limits: plan.limits, asked: [] })).not.toHaveProperty("cgroup");
});

cageTest("many jobs at once do not mix", async () => {
  const ran = await Promise.all(
    Array.from({ length: 40 }, (_, i) => runScript(stage, `echo ${i}; exit ${i}`)),
  );
  expect(ran.map(({ exitCode, stdout }) => `${exitCode} ${stdout}`)).toEqual(
    ran.map((_, i) => `${i} ${i}\n`),
  );
});
