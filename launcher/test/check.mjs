import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  cgroup,
  check,
  faultyLauncher,
  finish,
  launcherFile,
  mounts,
  nextId,
  plan,
  processes,
  run,
  scratch,
  sha,
  shell,
  started,
  until,
  workDir,
} from "./check-stage.mjs";
import {
  encodeFrame,
  frame,
  LauncherClient,
  openHow,
  planFields,
  protect,
  text,
  u32,
} from "./launcher-client.mjs";

/** `node launcher/test/check.mjs <writ-launcher> [words]`: what the launcher promises, seen from outside. As root. */

await check("a command that is not there fails at exec and nothing runs", async (client) => {
  const missing = await run(client, plan(["no-such-command"]));
  assert.deepEqual([missing.type, missing.step, missing.errno], [frame.failed, "exec", 2]);
  const plain = await run(client, plan(["/etc/passwd"]));
  assert.deepEqual([plain.step, plain.errno], ["exec", 13]);
  const cwd = await run(client, plan(["true"], { cwd: "/nowhere" }));
  assert.deepEqual([cwd.step, cwd.errno], ["cwd", 2]);
  const gone = await run(client, plan(["true"], { cgroup: "/sys/fs/cgroup/none-such" }));
  assert.deepEqual([gone.step, gone.errno], ["cgroup", 2]);
  const source = await run(
    client,
    plan(["true"], { mounts: [...mounts, { kind: 1, target: "/x", source: "/no-such" }] }),
  );
  assert.deepEqual([source.step, source.errno], ["mount", 2]);
  const file = plan(["true"]);
  writeFileSync(file.stdout, "");
  assert.deepEqual([(await run(client, file)).step], ["output"]);
  const link = plan(["true"]);
  symlinkSync(join(scratch, "elsewhere"), link.stderr);
  assert.equal((await run(client, link)).step, "output");
  assert.equal(existsSync(join(scratch, "elsewhere")), false);
});

await check("a script without #! is not given to a shell", async (client) => {
  writeFileSync(join(workDir, "script"), "echo no\n", { mode: 0o755 });
  assert.deepEqual([(await run(client, plan(["./script"]))).errno], [8]);
});

await check("stdin is what the plan says, to the byte, and cannot be changed", async (client) => {
  const bytes = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 7) % 256));
  for (const stdin of [bytes, "one line\n", "\0"]) {
    const one = plan(["cat"], { stdin });
    assert.equal((await run(client, one)).exitCode, 0);
    assert.equal(sha(readFileSync(one.stdout)), sha(Buffer.from(stdin)));
  }
  const written = shell("echo no > /dev/stdin || echo no >&0", { stdin: "yes" });
  assert.notEqual((await run(client, written)).exitCode, 0);
  const none = plan(["cat"]);
  assert.deepEqual([(await run(client, none)).exitCode, readFileSync(none.stdout).length], [0, 0]);
});

await check("exit codes and signals come back exactly", async (client) => {
  for (const code of [0, 1, 7, 126, 127, 255])
    assert.equal((await run(client, shell(`exit ${code}`))).exitCode, code);
  for (const signo of [1, 2, 6, 9, 11, 15, 34])
    assert.equal((await run(client, shell(`kill -${signo} $$`))).exitSignal, signo);
});

await check("usage is of the job", async (client) => {
  const end = await run(client, shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"));
  assert.ok(
    end.cpuUserUs > 10_000 && end.endUs - end.startUs >= end.cpuUserUs / 2 && end.rssBytesMax > 500_000,
  );
});

await check("100 MB of random bytes arrive as they were said", async (client) => {
  const one = shell("head -c 100000000 /dev/urandom | tee /dev/stderr");
  const end = await run(client, one);
  assert.deepEqual([end.exitCode, end.stdoutBytes, end.stderrBytes], [0, 100_000_000, 100_000_000]);
  assert.equal(sha(readFileSync(one.stdout)), sha(readFileSync(one.stderr)));
  assert.equal(statSync(one.stdout).mode & 0o777, 0o600);
});

await check("a limit is kept to the byte and ends the job", async (client) => {
  for (const limit of [0, 1, 4095, 65536, 1_000_003]) {
    const over = shell("exec yes 12345678", { stdoutMax: limit });
    const end = await run(client, over);
    assert.deepEqual(
      [end.exitSignal, end.stdoutBytes, end.stdoutEnd.end, end.stderrEnd.end],
      [9, limit, 1, 0],
    );
    assert.equal(readFileSync(over.stdout, "latin1"), "12345678\n".repeat(limit / 9 + 1).slice(0, limit));
    const exact = await run(client, shell(`head -c ${limit} /dev/zero`, { stdoutMax: limit }));
    assert.deepEqual([exact.exitCode, exact.stdoutBytes, exact.stdoutEnd.end], [0, limit, 0]);
    // Over the limit in the last write, and gone before anyone could look.
    const late = await run(client, shell(`head -c ${limit + 1} /dev/zero >&2`, { stderrMax: limit }));
    assert.deepEqual([late.stderrBytes, late.stderrEnd.end], [limit, 1]);
  }
});

await check("a job can open its stdout again and cannot rewrite it", async (client) => {
  const one = shell("echo a; echo b > /dev/stdout; echo c >> /proc/self/fd/1; : > /dev/stdout; echo d");
  assert.equal((await run(client, one)).exitCode, 0);
  assert.equal(readFileSync(one.stdout, "utf8"), "a\nb\nc\nd\n");
});

await check("watchers of an output file are woken by each write", async (client) => {
  const one = shell("for i in 1 2 3 4 5; do until read x < /work/go; do :; done; echo $i; done");
  execFileSync("mkfifo", ["-m", "666", join(workDir, "go")]);
  await started(client, one);
  const seen = [];
  const watcher = watch(one.stdout, () => seen.push(statSync(one.stdout).size));
  for (let i = 1; i <= 5; i++) {
    writeFileSync(join(workDir, "go"), "\n");
    await until(() => seen.includes(2 * i));
  }
  watcher.close();
});

await check("a signal goes to the job's process group and a kill to all", async (client) => {
  const polite = shell("trap 'echo bye; exit 3' TERM; sleep 100 & wait");
  await started(client, polite);
  await until(() => processes().length >= 3);
  client.send(frame.signal, polite.id, [[32, u32(15)]]);
  assert.equal((await client.wait(polite.id, frame.exited)).exitCode, 3);
  const deaf = shell(
    "trap '' TERM INT HUP; setsid sh -c 'sleep 100 & sleep 100' & while :; do sleep 1; done",
  );
  await started(client, deaf);
  await until(() => processes().length >= 5);
  client.send(frame.signal, deaf.id, [[32, u32(15)]]);
  client.send(frame.kill, deaf.id);
  assert.equal((await client.wait(deaf.id, frame.exited)).exitSignal, 9);
  assert.deepEqual(processes(), []);
  client.send(frame.kill, deaf.id);
  client.send(frame.signal, 99999, [[32, u32(15)]]);
  assert.equal((await run(client, plan(["true"]))).exitCode, 0);
});

await check("daemons die with the job that left them", async (client) => {
  const end = await run(
    client,
    shell("for i in 1 2 3; do setsid sh -c 'setsid sleep 1000 &' & done; sleep 0.2; exit 5"),
  );
  assert.equal(end.exitCode, 5);
  assert.deepEqual(processes(), []);
});

const manySleepers = async (client) => {
  const all = Array.from({ length: 20 }, () =>
    shell("setsid sh -c 'trap \"\" TERM; setsid sleep 1000 & sleep 1000' & sleep 1000"),
  );
  for (const end of await Promise.all(all.map((one) => started(client, one))))
    assert.equal(end.type, frame.started);
  await until(() => processes().length >= 100);
};

await check("everything dies when the worker closes the socket", async (client) => {
  await manySleepers(client);
  client.socket.destroy();
  assert.deepEqual(await client.exited, { code: 0, signal: null });
  assert.deepEqual(processes(), []);
});

await check("everything dies when the launcher is killed", async (client) => {
  await manySleepers(client);
  client.child.kill("SIGKILL");
  await client.exited;
  await until(() => processes().length === 0);
});

await check("everything dies when the worker is killed", async () => {
  const script = `import { LauncherClient, planFields } from ${JSON.stringify(new URL("./launcher-client.mjs", import.meta.url).href)};
    const client = new LauncherClient(${JSON.stringify(launcherFile)});
    client.send(1, 1, planFields(${JSON.stringify(shell("setsid sleep 1000 & sleep 1000"))}));
    await client.wait(1, 65); console.log("started"); setInterval(() => {}, 1000);`;
  const worker = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => worker.stdout.once("data", resolve));
  await until(() => processes().length >= 3);
  worker.kill("SIGKILL");
  await until(() => processes().length === 0);
});

await check("a job has the descriptors 0, 1, 2 and no other", async () => {
  const leaked = [openSync("/etc/shadow", "r"), openSync(scratch, "r")];
  const client = new LauncherClient(launcherFile);
  const one = plan(["/bin/ls", "/proc/self/fd"]);
  await run(client, one);
  // The fourth is the listing itself.
  assert.equal(readFileSync(one.stdout, "utf8"), "0\n1\n2\n3\n");
  client.socket.destroy();
  await client.exited;
  for (const fd of leaked) closeSync(fd);
});

await check("two jobs see nothing of each other", async (client) => {
  const first = shell("echo secret > /tmp/mine; echo x > /dev/shm/mine; sleep 1000");
  await started(client, first);
  // The shell counts by itself: of a pipe's processes it cannot be said who is there when one of them looks.
  const second = shell("ls /tmp /dev/shm; set -- /proc/[0-9]*; echo $#; cat /proc/sysvipc/shm | wc -l");
  await run(client, second);
  assert.equal(readFileSync(second.stdout, "utf8"), "/dev/shm:\n\n/tmp:\n1\n1\n");
});

await check("a replaced file on the host is seen by the next job", async (client) => {
  const file = join(scratch, "resolv.conf");
  const seen = async (content) => {
    rmSync(file, { force: true });
    writeFileSync(file, content);
    const one = plan(["cat", "/etc/name"], {
      mounts: [...mounts, { kind: 1, target: "/etc/name", source: file }],
    });
    await run(client, one);
    return readFileSync(one.stdout, "utf8");
  };
  for (const content of ["one", "two", "three"]) assert.equal(await seen(content), content);
});

await check("nested mounts, skipped sources and files of the plan", async (client) => {
  const extra = [
    { kind: 1, flags: 1, target: "/missing", source: "/no-such-source" },
    { kind: 7, mode: 0o400, target: "/etc/deep/er/secret", source: "x" },
    { kind: 1, flags: 2, target: "/work/in/here", source: "/usr/share" },
    { kind: 3, mode: 0o700, size: 4096, target: "/work/small" },
    { kind: 8, mode: 0o755, target: "/empty" },
  ];
  const one = shell(
    "ls -d /missing /empty /work/in/here/doc; cat /etc/deep/er/secret; echo x > /work/in/here/y",
    { mounts: [...mounts, ...extra] },
  );
  await run(client, one);
  assert.equal(readFileSync(one.stdout, "utf8"), "/empty\n/work/in/here/doc\n");
  const errors = readFileSync(one.stderr, "utf8");
  assert.match(errors, /missing': No such file/);
  assert.match(errors, /secret: Permission denied/);
  assert.match(errors, /y: Read-only file system/);
});

await check("limits of the plan hold", async (client) => {
  const one = shell("ulimit -n; ulimit -c; ulimit -f", {
    rlimits: [
      [7, 64, 64],
      [1, 512 * 10, 512 * 10],
    ],
  });
  await run(client, one);
  assert.equal(readFileSync(one.stdout, "utf8"), "64\n0\n10\n");
});

await check("parts can be left out, and without namespaces the tree still ends", async (client) => {
  const bare = { mounts: [], hostname: undefined, cwd: "/", protections: protect.nnp | protect.seccomp };
  const one = shell("id -u; setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 0.2; exit 4", bare);
  assert.equal((await run(client, one)).exitCode, 4);
  assert.equal(readFileSync(one.stdout, "utf8"), "0\n");
  assert.deepEqual(processes(), []);
  const killed = shell("setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000", bare);
  await started(client, killed);
  await until(() => processes().length >= 4);
  client.send(frame.kill, killed.id);
  assert.equal((await client.wait(killed.id, frame.exited)).exitSignal, 9);
  assert.deepEqual(processes(), []);
});

await check("200 jobs at once, fairly, and descriptors come back", async (client) => {
  const fds = () => readdirSync(`/proc/${client.child.pid}/fd`).length;
  await run(client, plan(["true"]));
  const before = fds();
  const ends = await Promise.all(
    Array.from({ length: 200 }, (_, i) => run(client, shell(`echo ${i}; head -c 100000 /dev/zero`))),
  );
  assert.ok(ends.every((end) => end.exitCode === 0 && end.stdoutBytes > 100_000));
  assert.equal(fds(), before);
});

await check("the door opens beneath a directory and nowhere else", async (client) => {
  const dir = join(scratch, "door");
  mkdirSync(join(dir, "sub"), { recursive: true });
  writeFileSync(join(dir, "sub/file"), "content");
  symlinkSync("/etc/passwd", join(dir, "link"));
  symlinkSync("sub", join(dir, "dirlink"));
  execFileSync("mkfifo", [join(dir, "fifo")]);
  const open = (path, how = openHow.read) => {
    const id = nextId();
    client.send(frame.open, id, [
      [33, text(dir)],
      [34, text(path)],
      [35, u32(how)],
    ]);
    return client.wait(id, frame.opened, frame.openFailed);
  };
  const found = await open("sub/file");
  assert.equal(readFileSync(`/proc/${client.child.pid}/fd/${found.fd}`, "utf8"), "content");
  client.send(frame.close, 0, [[36, u32(found.fd)]]);
  await until(() => !existsSync(`/proc/${client.child.pid}/fd/${found.fd}`));
  const made = await open("sub/new", openHow.create);
  writeFileSync(`/proc/${client.child.pid}/fd/${made.fd}`, "made");
  assert.equal(readFileSync(join(dir, "sub/new"), "utf8"), "made");
  assert.equal((await open("sub", openHow.directory | openHow.sameMount)).type, frame.opened);
  const refused = {
    "sub/new": 17,
    "../check": 18,
    link: 40,
    "dirlink/file": 40,
    "/etc/passwd": 18,
    fifo: 22,
    sub: 21,
    none: 2,
  };
  for (const [path, errno] of Object.entries(refused)) {
    const answer = await open(path, path === "sub/new" ? openHow.create : openHow.read);
    assert.deepEqual([path, answer.errno], [path, errno]);
  }
});

for (const [name, bytes] of Object.entries({
  "an unknown type": encodeFrame(9, 1, []),
  "an unknown tag": encodeFrame(1, 1, [[200, text("x")]]),
  "a field that is too long": Buffer.concat([u32(10), Buffer.from([1]), u32(1), Buffer.from([1]), u32(100)]),
  "a frame that is too long": Buffer.concat([u32(4 * 1024 * 1024 + 1), Buffer.alloc(64)]),
  "a frame that is too short": u32(4),
  "a zero in a string": encodeFrame(1, 1, [[1, text("a\0b")]]),
  "a second cwd": encodeFrame(1, 1, [
    [3, text("/")],
    [3, text("/")],
  ]),
  "an unknown protection": encodeFrame(1, 1, [[4, u32(1 << 20)]]),
  "a bad mount": encodeFrame(1, 1, [[8, Buffer.alloc(40, 255)]]),
  "signal 65": encodeFrame(2, 1, [[32, u32(65)]]),
  "closing what was not opened": encodeFrame(5, 1, [[36, u32(3)]]),
})) {
  await check(`protocol: ${name} ends the launcher and all jobs`, async (client) => {
    await started(client, plan(["sleep", "1000"]));
    client.socket.write(bytes);
    assert.equal((await client.wait(0, frame.protocolError)).type, frame.protocolError);
    assert.deepEqual(await client.exited, { code: 2, signal: null });
    assert.deepEqual(processes(), []);
  });
}

await check(
  "a directory is given to the job with all in it, and nothing that a link points to",
  async (client) => {
    const dir = join(scratch, "given");
    const outside = join(scratch, "outside");
    mkdirSync(join(dir, "in/ner"), { recursive: true });
    for (const file of [join(dir, "in/ner/file"), outside]) writeFileSync(file, "");
    symlinkSync(outside, join(dir, "link"));
    symlinkSync(scratch, join(dir, "in/up"));
    const given = plan(["true"], { giveDir: dir });
    assert.equal((await run(client, given)).exitCode, 0);
    const owners = ["", "in", "in/ner", "in/ner/file"].map((name) => statSync(join(dir, name)).uid);
    assert.deepEqual(owners, [65534, 65534, 65534, 65534]);
    assert.deepEqual([statSync(outside).uid, statSync(scratch).uid], [0, 0]);

    const deep = join(scratch, "deep");
    mkdirSync(join(deep, "1/2/3/4/5/6/7/8"), { recursive: true });
    for (const [giveDir, errno] of [
      [join(dir, "link"), 20],
      [join(scratch, "none-such"), 2],
      [deep, 7],
    ]) {
      const refused = await run(client, plan(["true"], { giveDir }));
      assert.deepEqual([refused.type, refused.step, refused.errno], [frame.failed, "give", errno]);
    }
    const nobody = await run(
      client,
      plan(["true"], { giveDir: dir, protections: 0, mounts: [], hostname: undefined }),
    );
    assert.deepEqual([nobody.type, nobody.step], [frame.failed, "plan"]);
  },
);

await check("a job's own cgroup says what it counted and goes with the job", async (client) => {
  const own = join(cgroup, "own");
  mkdirSync(own);
  const end = await run(client, shell("exec /bin/true", { cgroup: own, cgroupIoLift: "" }));
  assert.deepEqual([end.exitCode, end.cgroupRemoved], [0, 1]);
  assert.match(end.cpuStat, /^usage_usec \d+$/m);
  assert.equal(existsSync(own), false);
  const shared = await run(client, plan(["true"]));
  assert.deepEqual([shared.cgroupRemoved, shared.cpuStat], [undefined, undefined]);
  assert.equal(existsSync(cgroup), true);
});

await check("a cgroup with another process in it is left to the worker", async (client) => {
  const own = join(cgroup, "own");
  mkdirSync(own);
  const guest = spawn("sleep", ["1000"], { stdio: "ignore" });
  writeFileSync(join(own, "cgroup.procs"), `${guest.pid}`);
  const end = await run(client, plan(["true"], { cgroup: own, cgroupIoLift: "" }));
  assert.deepEqual([end.exitCode, end.cgroupRemoved], [0, 0]);
  const stuck = await run(client, plan(["true"], { cgroup: own, cgroupIoLift: "0:0 no such order" }));
  assert.deepEqual([stuck.exitCode, stuck.cgroupRemoved], [0, 0]);
  guest.kill("SIGKILL");
  await new Promise((resolve) => guest.on("exit", resolve));
  await until(() => readFileSync(join(own, "cgroup.events"), "utf8").includes("populated 0"));
  rmdirSync(own);
  const lost = plan(["true"], { cgroup: undefined, cgroupIoLift: "" });
  assert.deepEqual((await run(client, lost)).step, "plan");
});

await check("a disk that does not let watchers be woken costs no output", async () => {
  const refusing = ["-e", "inject=inotify_init1:error=EMFILE", "-e", "inject=utimensat:error=ENOSPC"];
  const client = faultyLauncher(...refusing);
  const one = plan(["echo", "kept"]);
  const died = client.exited.then((end) => assert.fail(`it ended: ${JSON.stringify(end)}`));
  assert.equal((await Promise.race([run(client, one), died])).stdoutEnd.end, 0);
  assert.equal(readFileSync(one.stdout, "utf8"), "kept\n");
  died.catch(() => {});
  client.socket.destroy();
  await client.exited;
});

await check("without a pid namespace, what a job leaves in its first moment ends with it", async () => {
  // Its first process has all the time that it needs before its cage looks after it.
  const client = faultyLauncher("-e", "trace=dup3", "-e", "inject=dup3:delay_enter=300000");
  const pidFile = join(scratch, "orphan");
  const orphan = `echo $$ > ${pidFile}; exec sleep 1000`;
  const script = `(setsid sh -c '${orphan}' &); until [ -s ${pidFile} ]; do :; done`;
  const bare = { protections: 0, mounts: [], hostname: undefined, cgroup: undefined, cwd: "/" };
  assert.equal((await run(client, shell(script, bare))).exitCode, 0);
  assert.equal(existsSync(`/proc/${readFileSync(pidFile, "utf8").trim()}`), false);
  client.socket.destroy();
  await client.exited;
});

await check("protocol: large plans, and plans in pieces", async (client) => {
  const big = plan(["/bin/sh", "-c", "echo $#", ...Array.from({ length: 8000 }, () => "x".repeat(200))]);
  const bytes = encodeFrame(frame.start, big.id, planFields(big));
  for (let at = 0; at < bytes.length; at += 50_001) {
    client.socket.write(bytes.subarray(at, at + 50_001));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await client.wait(big.id, frame.exited, frame.failed)).exitCode, 0);
  assert.equal(readFileSync(big.stdout, "utf8"), "7999\n");
});

await import("./check-files.mjs");
await import("./check-mounts.mjs");
await import("./check-masks.mjs");
await import("./check-held.mjs");
await import("./check-full.mjs");
finish();
