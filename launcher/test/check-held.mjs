import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { check, nextId, plan, run, scratch, started } from "./check-stage.mjs";
import { encodeFrame, frame, jailMounts, text, u32 } from "./launcher-client.mjs";

/** Jobs whose directories the launcher makes, and whose output it holds until it knows whether they are short. */

const heldBytesMax = 32 * 1024;
/** The longest there is: on a busy machine a short job may take as long as that, so each is tried a few times. */
const holdMs = 1000;
const triesMax = 20;

function short(script, more = {}) {
  const home = join(scratch, `home-${nextId()}`, "1");
  return plan(["/bin/sh", "-c", script], {
    mounts: jailMounts(join(home, "work")),
    stdout: join(home, "stdout.log"),
    stderr: join(home, "stderr.log"),
    holdMs,
    home,
    homeEntries: [{ path: "work" }, { path: "work/output" }, { path: "work/input.json", content: '{"n":1}' }],
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

await check("a short job comes back whole, and nothing of it is left", async (client) => {
  const { one, end } = await runHeld(client, "cat input.json; echo oops >&2; exit 3");
  assert.deepEqual([end.exitCode, end.stdout, end.stderr, end.homeRemoved], [3, '{"n":1}', "oops\n", 1]);
  assert.deepEqual([end.stdoutBytes, end.stderrBytes], [7, 5]);
  assert.equal(existsSync(join(one.home, "..")), false);
});

await check("what a job leaves in its home stays, and no link there leads out of it", async (client) => {
  const left = await runHeld(client, "echo 1 > result.json");
  assert.deepEqual([left.end.stdout, left.end.homeRemoved], ["", 0]);
  assert.equal(readFileSync(join(left.one.home, "work/result.json"), "utf8"), "1\n");
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

await check(
  "as much as can be held is held, of both streams together; one byte more goes to files",
  async (client) => {
    const script = (bytes) => `head -c ${bytes} /dev/zero; printf 1234 >&2`;
    const { end } = await runHeld(client, script(heldBytesMax - 4));
    assert.deepEqual([end.stdout.length, end.stderr], [heldBytesMax - 4, "1234"]);
    const one = short(script(heldBytesMax - 3));
    const over = await run(client, one);
    assert.equal(over.stdout, undefined);
    assert.deepEqual([over.stdoutBytes, over.stderrBytes], [heldBytesMax - 3, 4]);
    assert.equal(readFileSync(one.stdout).length, heldBytesMax - 3);
    assert.equal(readFileSync(one.stderr, "utf8"), "1234");
  },
);

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
