import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { check, mounts, plan, run, scratch, shell } from "./check-stage.mjs";
import { frame, mountFlag, mountKind, protect, protectAll } from "./launcher-client.mjs";

/** The mounts of one job: what is refused, and what a job can and cannot do in them. */

const alice = { uid: 1234, gid: 2345 };
const { writable, noexec, oneFile, idmap } = mountFlag;
const show = (source, target, flags = 0, more = {}) => ({
  kind: mountKind.job,
  flags,
  source,
  target,
  ...((flags & idmap) === 0 ? {} : alice),
  ...more,
});
const withMounts = (...own) => ({ mounts: [...mounts, ...own] });
const refusal = ({ type, step, errno }) => [type === frame.failed, step, errno];
const output = (one) => readFileSync(one.stdout, "utf8");
const complaints = (one) => readFileSync(one.stderr, "utf8");

/** A repository of Alice's: a file, a folder that jobs may write to, a secret of hers, and another user's file. */
function repository(name) {
  const repo = join(scratch, name);
  mkdirSync(join(repo, "src/deep"), { recursive: true });
  writeFileSync(join(repo, "README"), "read me\n");
  writeFileSync(join(repo, "src/secret"), "hers\n", { mode: 0o600 });
  writeFileSync(join(repo, "src/of-another"), "not hers\n", { mode: 0o644 });
  for (const path of ["", "README", "src", "src/deep", "src/secret"])
    chownSync(join(repo, path), alice.uid, alice.gid);
  chownSync(join(repo, "src/of-another"), 4321, 4321);
  return repo;
}

/** Where the kernel or the disk of the scratch folder does not support idmapped mounts, there is nothing to check. */
function checkMapped(name, body) {
  return check(name, async (client) => {
    const probe = await run(
      client,
      plan(["true"], withMounts(show(scratch, "/x", idmap, { uid: 0, gid: 0 }))),
    );
    if (probe.step !== "idmap") return body(client);
    console.log(`      not capable: ${probe.message}`);
  });
}

await check("a mount that a plan may not ask for is refused before anything is looked at", async (client) => {
  const bind = mountKind.bindRo;
  const bad = [
    show("relative", "/x"),
    show("/", "/x"),
    show("/usr/../etc", "/x"),
    show("/usr//share", "/x"),
    show("/usr", "relative"),
    show("/usr", "/"),
    show("/usr", "/x/../y"),
    show("/usr", "/x", mountFlag.perJob),
    show("/usr", "/x", mountFlag.skipMissing),
    show("/usr", "/x", 0, { mode: 0o755 }),
    show("/usr", "/x", 0, alice),
    show("/usr", "/x", idmap, { uid: 0xffffffff }),
    { kind: bind, source: "/usr", target: "/x", flags: writable },
    { kind: bind, source: "/usr", target: "/x", uid: 1 },
  ];
  for (const mount of bad) {
    const end = await run(client, plan(["true"], withMounts(mount)));
    assert.deepEqual([mount, ...refusal(end)], [mount, true, "plan", 22]);
  }
  for (const missing of [protect.ids, protect.caps, protect.seccomp]) {
    const protections = protectAll & ~protect.net & ~missing;
    const one = plan(["true"], { protections, ...withMounts(show("/usr", "/x", idmap)) });
    assert.deepEqual(refusal(await run(client, one)), [true, "plan", 22]);
  }
  assert.equal((await run(client, plan(["true"]))).exitCode, 0);
});

await check("a source that is not what the plan says is refused, and nothing runs", async (client) => {
  const repo = repository("sources");
  symlinkSync("src", join(repo, "link"));
  symlinkSync("README", join(repo, "filelink"));
  execFileSync("mkfifo", [join(repo, "fifo")]);
  const cases = [
    [show(join(repo, "none"), "/x"), 2],
    [show(join(repo, "link"), "/x"), 40],
    [show(join(repo, "link/deep"), "/x"), 40],
    [show(join(repo, "filelink"), "/x", oneFile), 40],
    [show("/proc/self/root/usr", "/x"), 40],
    [show(join(repo, "README"), "/x"), 20],
    [show(join(repo, "src"), "/x", oneFile), 22],
    [show(join(repo, "fifo"), "/x", oneFile), 22],
    [show("/dev/null", "/x", oneFile), 22],
    [show(join(repo, "src"), "/x", idmap, { uid: alice.uid, gid: 1 }), 1],
    [show(join(repo, "src"), "/x", idmap, { uid: 1, gid: alice.gid }), 1],
  ];
  for (const [mount, errno] of cases) {
    const end = await run(client, plan(["true"], withMounts(mount)));
    assert.deepEqual([mount.source, ...refusal(end)], [mount.source, true, "job-mount", errno]);
  }
});

await check(
  "a target is reached through no link, and is not made where nothing can be made",
  async (client) => {
    const repo = repository("targets");
    symlinkSync("/etc", join(repo, "out"));
    symlinkSync("src", join(repo, "in"));
    const cases = [
      ["/repo/out", 40],
      ["/repo/out/new", 40],
      ["/repo/in/deep", 40],
      ["/repo/README", 20],
      ["/repo/README/x", 20],
      ["/repo/missing", 30],
      ["/repo/missing/deeper", 30],
    ];
    for (const [target, errno] of cases) {
      const end = await run(client, plan(["true"], withMounts(show(repo, "/repo"), show(repo, target))));
      assert.deepEqual([target, ...refusal(end)], [target, true, "job-mount", errno]);
    }
    const link = await run(client, plan(["true"], withMounts(show(repo, "/bin/repo"))));
    const isLink = existsSync("/usr/bin") && readdirSync("/").includes("bin");
    if (isLink) assert.equal(link.step, "job-mount");
    assert.deepEqual(readdirSync(repo).sort(), ["README", "in", "out", "src"]);
  },
);

await check("a file system without idmapped mounts has a failure name of its own", async (client) => {
  const owner = { uid: 0, gid: 0 };
  const end = await run(client, plan(["true"], withMounts(show("/proc/sys", "/x", idmap, owner))));
  assert.deepEqual(refusal(end), [true, "idmap", 22]);
  const plain = await run(client, plan(["true"], withMounts(show("/proc/sys", "/x"))));
  assert.equal(plain.exitCode, 0);
});

await check(
  "a source that is swapped for a link while jobs start never shows what the link points to",
  async (client) => {
    const dir = join(scratch, "race");
    mkdirSync(join(dir, "repo/inner"), { recursive: true });
    mkdirSync(join(dir, "secret/inner"), { recursive: true });
    writeFileSync(join(dir, "repo/inner/file"), "mine\n");
    writeFileSync(join(dir, "secret/inner/file"), "SECRET\n");
    const swap = "while :; do mv repo away && ln -s secret repo && rm repo && mv away repo; done";
    const swapper = spawn("sh", ["-c", swap], { cwd: dir, stdio: "ignore" });
    const seen = new Map();
    try {
      for (let tries = 0; tries < 20_000 && (seen.size < 3 || tries < 300); tries++) {
        const one = plan(["cat", "/repo/file"], withMounts(show(join(dir, "repo/inner"), "/repo")));
        const end = await run(client, one);
        const what = end.type === frame.failed ? `${end.step} ${end.errno}` : output(one);
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    } finally {
      swapper.kill("SIGKILL");
      await new Promise((resolve) => swapper.on("exit", resolve));
    }
    assert.deepEqual([...seen.keys()].sort(), ["job-mount 2", "job-mount 40", "mine\n"]);
  },
);

await check(
  "a read-only mount is read-only to its depth, and set-uid and devices are nothing in it",
  async (client) => {
    const repo = repository("depth");
    const inner = join(repo, "src/deep");
    execFileSync("mount", ["-t", "tmpfs", "-o", "mode=777", "none", inner]);
    try {
      execFileSync("mknod", ["-m", "666", join(inner, "zero"), "c", "1", "5"]);
      const script =
        "cat /repo/README; head -c1 /repo/src/deep/zero; for i in /repo /repo/src /repo/src/deep; do touch $i/new; done; grep ' /repo' /proc/self/mountinfo | cut -d' ' -f6";
      const one = shell(script, withMounts(show(repo, "/repo")));
      await run(client, one);
      const [content, ...options] = output(one).trim().split("\n");
      assert.equal(content, "read me");
      assert.deepEqual(options, ["ro,nosuid,nodev,relatime", "ro,nosuid,nodev,relatime"]);
      assert.equal(complaints(one).match(/Read-only file system/g).length, 3);
      assert.match(complaints(one), /zero.*Permission denied/);
    } finally {
      execFileSync("umount", [inner]);
    }
  },
);

await checkMapped(
  "an idmapped mount makes the owner's files the job's, and the job's files the owner's",
  async (client) => {
    const repo = repository("owner");
    const script =
      "stat -c '%u:%g' /repo /repo/src /repo/src/of-another; cat /repo/src/secret; echo more >> /repo/src/secret; echo new > /repo/src/new; mkdir /repo/src/folder; ln -s x /repo/src/link; rm -r /repo/src/deep; echo no > /repo/README; echo no > /repo/src/of-another; chown 4321 /repo/src/new";
    const one = shell(
      script,
      withMounts(show(repo, "/repo"), show(join(repo, "src"), "/repo/src", writable | idmap)),
    );
    await run(client, one);
    assert.equal(output(one), "1234:2345\n65534:65534\n65534:65534\nhers\n");
    const made = ["secret", "new", "folder"].map((name) => statSync(join(repo, "src", name)));
    assert.deepEqual(
      made.map(({ uid, gid }) => [uid, gid]),
      Array(3).fill([alice.uid, alice.gid]),
    );
    assert.deepEqual(readdirSync(join(repo, "src")).sort(), [
      "folder",
      "link",
      "new",
      "of-another",
      "secret",
    ]);
    assert.equal(readFileSync(join(repo, "src/of-another"), "utf8"), "not hers\n");
    assert.equal(readFileSync(join(repo, "README"), "utf8"), "read me\n");
    assert.match(complaints(one), /README.*Read-only.*\n.*of-another.*Permission denied/);
    assert.match(complaints(one), /chown.*(not permitted|Invalid argument|too large)/);
  },
);

await checkMapped("an idmapped mount may be read-only, a single file, or what root owns", async (client) => {
  const repo = repository("kinds");
  const file = join(repo, "src/secret");
  const own = join(scratch, "root-owned");
  mkdirSync(own, { mode: 0o700 });
  const one = shell(
    "cat /s/secret; touch /s/new; echo written > /f; echo x > /w/file; ls -ln /w/file | cut -d' ' -f3,4",
    withMounts(
      show(join(repo, "src"), "/s", idmap),
      show(file, "/f", writable | idmap | oneFile),
      show(own, "/w", writable | idmap, { uid: 0, gid: 0 }),
    ),
  );
  await run(client, one);
  assert.equal(output(one), "hers\n65534 65534\n");
  assert.match(complaints(one), /\/s\/new.*Read-only/);
  assert.equal(readFileSync(file, "utf8"), "written\n");
  assert.deepEqual([statSync(file).uid, statSync(join(own, "file")).uid], [alice.uid, 0]);
});

await checkMapped(
  "a job with an idmapped mount makes no set-uid file, another job may as before",
  async (client) => {
    const repo = repository("set-id");
    const program = `import os
for what in (lambda: os.chmod("f", 0o4755), lambda: os.chmod("f", 0o2755), lambda: os.open("g", os.O_CREAT|os.O_WRONLY, 0o6755),
             lambda: os.mknod("h", 0o104755), lambda: os.fchmod(os.open("f", os.O_RDONLY), 0o4755),
             lambda: os.open(".", os.O_TMPFILE|os.O_WRONLY, 0o4755), lambda: os.chmod("f", 0o1755), lambda: os.open("i", os.O_CREAT, 0o755)):
    try: what(); print("made")
    except OSError as error: print(error.errno)
`;
    writeFileSync(join(repo, "try.py"), program);
    const tries = async (mount) => {
      const one = shell(
        "cd /repo; touch f; python3 /try.py",
        withMounts(mount, show(join(repo, "try.py"), "/try.py", oneFile)),
      );
      await run(client, one);
      return output(one).trim().split("\n");
    };
    const mapped = await tries(show(join(repo, "src"), "/repo", writable | idmap));
    assert.deepEqual(mapped, ["1", "1", "1", "1", "1", "1", "made", "made"]);
    const setIds = readdirSync(join(repo, "src")).filter(
      (name) => (statSync(join(repo, "src", name)).mode & 0o6000) !== 0,
    );
    assert.deepEqual(setIds, []);
    const open = join(scratch, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    assert.deepEqual(await tries(show(open, "/repo", writable)), Array(8).fill("made"));
  },
);

await check("programs in a mount run, unless the plan says that they do not", async (client) => {
  const repo = repository("programs");
  writeFileSync(join(repo, "hello"), "#!/bin/sh\necho hello\n", { mode: 0o755 });
  const one = shell("/repo/hello; /data/hello", withMounts(show(repo, "/repo"), show(repo, "/data", noexec)));
  await run(client, one);
  assert.equal(output(one), "hello\n");
  assert.match(complaints(one), /\/data\/hello: Permission denied/);
});

await checkMapped(
  "mounts come in order, in each other and in what the cage has of its own",
  async (client) => {
    const repo = repository("order");
    const inputs = join(scratch, "inputs");
    mkdirSync(inputs);
    writeFileSync(join(inputs, "data"), "42");
    const before = readFileSync("/proc/self/mountinfo", "utf8");
    const one = shell(
      "echo a > /tmp/a/b/repo/src/deep/new; cat /work/inputs/data; touch /work/inputs/new; cat /work/inputs/README; ls /tmp/a/b",
      {
        cwd: repo,
        ...withMounts(
          show(repo, repo),
          show(repo, "/tmp/a/b/repo"),
          show(join(repo, "src"), "/tmp/a/b/repo/src", idmap),
          show(join(repo, "src/deep"), "/tmp/a/b/repo/src/deep", writable | idmap),
          show(inputs, "/work/inputs"),
        ),
      },
    );
    await run(client, one);
    assert.equal(output(one), "42repo\n");
    assert.match(complaints(one), /inputs\/new.*Read-only/);
    assert.equal(readFileSync(join(repo, "src/deep/new"), "utf8"), "a\n");
    assert.equal(readFileSync("/proc/self/mountinfo", "utf8"), before);
    rmSync(join(dirname(inputs), "work/inputs"), { recursive: true });
  },
);

await checkMapped("maps of owners are kept for the next job, and their number is bounded", async (client) => {
  const dirs = Array.from({ length: 40 }, (_, index) => {
    const dir = join(scratch, `owner-${index}`);
    mkdirSync(dir);
    chownSync(dir, 3000 + index, 3000);
    return show(dir, `/owner-${index}`, writable | idmap, { uid: 3000 + index, gid: 3000 });
  });
  const fds = () => readdirSync(`/proc/${client.child.pid}/fd`).length;
  const touch = async (own) =>
    run(client, shell("for i in /owner-*; do touch $i/new; done", withMounts(...own)));
  assert.equal((await touch(dirs.slice(0, 16))).exitCode, 0);
  const before = fds();
  for (const mount of dirs) assert.equal((await touch([mount])).exitCode, 0);
  assert.ok(fds() <= before + 8);
  assert.ok(dirs.every(({ source, uid }) => statSync(join(source, "new")).uid === uid));
  assert.deepEqual(refusal(await touch(dirs.slice(0, 17))), [true, "job-mount", 7]);
  assert.equal((await touch(dirs.slice(20, 36))).exitCode, 0);
});
