import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  check,
  faultyLauncher,
  nextId,
  plan,
  processes,
  run,
  scratch,
  started,
  until,
} from "./check-stage.mjs";
import { encodeFrame, frame, jailMounts, protect, text, u32 } from "./launcher-client.mjs";

/** Jobs whose directories the launcher makes, and whose output it holds until it knows whether they are short. */

const heldBytesMax = 32 * 1024;
/** The longest there is: on a busy machine a short job may take as long as that, so each is tried a few times. */
const holdMs = 1000;
const triesMax = 20;

function short(script, more = {}) {
  const id = nextId();
  const home = join(scratch, `home-${id}.1`);
  const attempt = join(scratch, `job-${id}`, "1");
  return plan(["/bin/sh", "-c", script], {
    mounts: jailMounts(home),
    stdout: join(attempt, "stdout.log"),
    stderr: join(attempt, "stderr.log"),
    holdMs,
    home,
    homeEntries: [{ path: "output" }, { path: "input.json", content: '{"n":1}' }],
    ...more,
  });
}

/** Until it has ended soon enough. */
async function runHeld(client, script, more) {
  for (let tries = 0; tries < triesMax; tries++) {
    const one = short(script, more);
    const end = await run(client, one);
    if (end.stdout !== undefined || end.type === frame.failed) return { one, end };
  }
  throw new Error("no job was short enough");
}

for (const [name, fields] of Object.entries({
  "a hold of 0 ms": [[20, u32(0)]],
  "a hold of more than a second": [[20, u32(1001)]],
  "a hold of 0 ms after the first byte": [[23, u32(0)]],
  "an unknown kind of home entry": [[22, Buffer.concat([Buffer.from([3]), u32(1), text("a")])]],
  "a directory with content": [[22, Buffer.concat([Buffer.from([1]), u32(1), text("ab")])]],
  "a path longer than its entry": [[22, Buffer.concat([Buffer.from([1]), u32(9), text("ab")])]],
})) {
  await check(`protocol: ${name} ends the launcher`, async (client) => {
    client.socket.write(encodeFrame(1, 1, fields));
    assert.equal((await client.wait(0, frame.protocolError)).type, frame.protocolError);
  });
}

await check("a home is refused if it is not new, or would be anywhere else", async (client) => {
  const there = short("true");
  mkdirSync(there.home, { recursive: true });
  assert.deepEqual([(await run(client, there)).step, readdirSync(there.home)], ["home", []]);
  for (const more of [
    { home: "/x" },
    { home: "/a/../b" },
    { homeEntries: [{ path: "../x" }] },
    { giveDir: "/tmp/x" },
  ])
    assert.equal((await run(client, short("true", more))).step, "plan");
});

await check("a home is the job's own, and only its user's", async (client) => {
  const { end } = await runHeld(client, "stat -c %u.%g.%a . output input.json");
  assert.equal(end.stdout, "65534.65534.700\n65534.65534.700\n65534.65534.600\n");
});

await check("a short job needs no directory above its files", async (client) => {
  // Nobody can make one there.
  const nowhere = { stdout: "/proc/none/1/stdout.log", stderr: "/proc/none/1/stderr.log" };
  assert.equal((await runHeld(client, "echo 1", nowhere)).end.stdout, "1\n");
});

await check(
  "the way to its files is made even if an earlier attempt of the job ends in between",
  async () => {
    // The first directory that the launcher itself makes is that of the job, which is gone before the next one.
    const client = faultyLauncher("-e", "inject=/^mkdir:delay_exit=500000:when=1");
    await client.wait(0, frame.ready);
    const one = short("exec sleep 1000", { holdMs: 1 });
    const jobDir = join(one.stdout, "../..");
    const told = started(client, one);
    await until(() => existsSync(jobDir));
    try {
      rmdirSync(jobDir);
    } catch {
      // Too late: the directory of the attempt is in it already.
    }
    assert.equal((await told).type, frame.started);
    assert.equal(existsSync(one.stdout), true);
    client.send(frame.kill, one.id);
    await client.wait(one.id, frame.exited);
    client.socket.destroy();
    await client.exited;
  },
);

await check("a short job comes back whole, and nothing of it is left", async (client) => {
  const { one, end } = await runHeld(client, "cat input.json; echo oops >&2; exit 3");
  assert.deepEqual([end.exitCode, end.stdout, end.stderr, end.homeRemoved], [3, '{"n":1}', "oops\n", 1]);
  assert.deepEqual([end.stdoutBytes, end.stderrBytes], [7, 5]);
  assert.deepEqual([existsSync(one.home), existsSync(join(one.stdout, "../.."))], [false, false]);
});

await check("what a job leaves in its home stays, and no link there leads out of it", async (client) => {
  const left = await runHeld(client, "echo 1 > result.json");
  assert.deepEqual([left.end.stdout, left.end.homeRemoved], ["", 0]);
  assert.equal(readFileSync(join(left.one.home, "result.json"), "utf8"), "1\n");
  const victim = join(scratch, "victim");
  mkdirSync(victim);
  symlinkSync("/etc/hostname", join(victim, "input.json"));
  const { end } = await runHeld(client, `rmdir output; ln -s ${victim} output`);
  assert.equal(end.homeRemoved, 0);
  assert.deepEqual(readdirSync(victim), ["input.json"]);
});

await check("a job that runs longer is told of, and its output goes to its files", async (client) => {
  const one = short("echo early; read line < /proc/self/fd/0; exec sleep 1000", { holdMs: 1 });
  const answer = await started(client, one);
  assert.equal(answer.type, frame.started);
  client.send(frame.kill, one.id);
  const end = await client.wait(one.id, frame.exited);
  assert.deepEqual([end.exitSignal, end.stdout, end.homeRemoved], [9, undefined, undefined]);
  assert.equal(readFileSync(one.stdout, "utf8").length, end.stdoutBytes);
});

await check("a hold after the first byte is refused without a hold", async (client) => {
  assert.equal((await run(client, short("true", { holdMs: undefined, holdWrittenMs: 1 }))).step, "plan");
});

await check("a job that has written and continues is told of before a silent one", async (client) => {
  // The silent one began first and both may be held as long, so it would be the first to be told of otherwise.
  for (let tries = 0; tries < triesMax; tries++) {
    const silent = short("exec sleep 1000");
    const writing = short("echo early; exec sleep 1000", { holdWrittenMs: 1 });
    const told = [];
    const starts = [silent, writing].map((one) => started(client, one).then(() => told.push(one)));
    await Promise.all(starts);
    for (const { id } of [silent, writing]) {
      client.send(frame.kill, id);
      await client.wait(id, frame.exited);
    }
    assert.equal(readFileSync(writing.stdout, "utf8"), "early\n");
    if (told[0] === writing) return;
  }
  throw new Error("the silent job was always told of first");
});

await check(
  "as much as can be held is held, of both streams together; one byte more goes to files",
  async (client) => {
    const script = (bytes) => `head -c ${bytes} /dev/zero; printf 1234 >&2`;
    const { end } = await runHeld(client, script(heldBytesMax - 4));
    assert.deepEqual([end.stdout.length, end.stderr], [heldBytesMax - 4, "1234"]);
    const one = short(script(heldBytesMax - 3));
    const over = await run(client, one);
    assert.equal(over.stdout, undefined);
    // Everything that the launcher said, so that a stream that ended early shows why.
    assert.deepEqual([over.stdoutBytes, over.stderrBytes], [heldBytesMax - 3, 4], inspect(over));
    assert.equal(readFileSync(one.stdout).length, heldBytesMax - 3);
    assert.equal(readFileSync(one.stderr, "utf8"), "1234");
  },
);

await check("output is whole when its end and that of the job are seen at once", async (client) => {
  for (const [last, masks] of [
    ["1234", []],
    // The beginning of a masked text, which is kept back until the stream has ended.
    ["hunter2", ["hunter22"]],
  ]) {
    const wait = "touch ready; until [ -e go ]; do :; done";
    const one = short(`${wait}; head -c ${heldBytesMax - 3} /dev/zero; printf ${last} >&2`, { masks });
    const ended = run(client, one);
    await until(() => existsSync(join(one.home, "ready")));
    client.child.kill("SIGSTOP");
    writeFileSync(join(one.home, "go"), "");
    await until(() => processes().length === 0);
    client.child.kill("SIGCONT");
    const end = await ended;
    assert.deepEqual([end.stdoutBytes, end.stderrBytes], [heldBytesMax - 3, last.length], inspect(end));
    assert.equal(readFileSync(one.stdout).length, heldBytesMax - 3);
    assert.equal(readFileSync(one.stderr, "utf8"), last);
  }
});

await check("limits and masks hold for output that is held", async (client) => {
  const limited = await runHeld(client, "printf 12345678901; exec sleep 1000", { stdoutMax: 10 });
  assert.deepEqual(
    [limited.end.stdout, limited.end.stdoutEnd.end, limited.end.exitSignal],
    ["1234567890", 1, 9],
  );
  const exact = await runHeld(client, "printf 1234567890", { stdoutMax: 10 });
  assert.deepEqual([exact.end.stdout, exact.end.stdoutEnd.end, exact.end.exitCode], ["1234567890", 0, 0]);
  const masked = await runHeld(client, "printf 'a hun'; printf 'ter22 b hunt'", { masks: ["hunter22"] });
  assert.equal(masked.end.stdout, "a ******** b hunt");
  const cut = await runHeld(client, "printf 'a hunter22'", { masks: ["hunter22"], stdoutMax: 6 });
  assert.equal(cut.end.stdout, "a ****");
});

await check("many jobs that end while the worker does not read lose nothing", async (client) => {
  const count = 180;
  const gate = join(scratch, "gate");
  execFileSync("mkfifo", [gate]);
  const gateFd = openSync(gate, "r+");
  const script = `read line < ${gate}; exec head -c ${heldBytesMax} /dev/zero`;
  // As little cage as possible: all of them have to wait at the gate before the first one is held for too long.
  const bare = { mounts: [], hostname: undefined, protections: protect.pid, cwd: "/", holdMs };
  client.socket.pause();
  const ends = Array.from({ length: count }, () => run(client, plan(["/bin/sh", "-c", script], bare)));
  await until(() => processes().length >= 2 * count);
  writeFileSync(gateFd, "\n".repeat(count));
  await until(() => processes().length === 0);
  closeSync(gateFd);
  client.socket.resume();
  const died = client.exited.then((end) => assert.fail(`it ended: ${inspect(end)}`));
  const bytes = (await Promise.race([Promise.all(ends), died])).map((end) => end.stdoutBytes);
  assert.deepEqual(bytes, Array(count).fill(heldBytesMax));
});

await check("a worker that reads slower than jobs end loses nothing", async (client) => {
  const [jobsAtOnce, jobsInAll] = [24, 300];
  const bare = { mounts: [], hostname: undefined, protections: protect.pid, cwd: "/", holdMs };
  const bytes = [];
  const next = async () => {
    if (bytes.length + jobsAtOnce > jobsInAll) return;
    bytes.push((await run(client, plan(["head", "-c", `${heldBytesMax}`, "/dev/zero"], bare))).stdoutBytes);
    await next();
  };
  client.socket.pause();
  const all = Promise.all(Array.from({ length: jobsAtOnce }, next));
  // So rarely that the launcher always has something left to send.
  const reading = setInterval(() => {
    client.socket.resume();
    setImmediate(() => client.socket.pause());
  }, 30);
  const died = client.exited.then((end) => assert.fail(`it ended: ${inspect(end)}`));
  await Promise.race([all, died]).finally(() => clearInterval(reading));
  assert.deepEqual(bytes, Array(bytes.length).fill(heldBytesMax));
});
