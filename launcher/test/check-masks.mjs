import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, plan, run, shell, started, until, workDir } from "./check-stage.mjs";
import { frame } from "./launcher-client.mjs";

/** Output in which the launcher overwrites given texts. */

const maskBytesMax = 1024 * 1024;
/** The same numbers each time, so that a failure comes again. */
let seed = 20261116;
const random = (below) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const word = (length, letters) => Array.from({ length }, () => letters[random(letters.length)]).join("");

/** What the launcher should write, made as plainly as possible. */
function maskedOf(text, masks) {
  const bytes = Buffer.from(text);
  const result = Buffer.from(text);
  for (const mask of masks.map((one) => Buffer.from(one)))
    for (let at = bytes.indexOf(mask); at >= 0; at = bytes.indexOf(mask, at + 1))
      result.fill("*", at, at + mask.length);
  return result.toString();
}

await check("masked texts are overwritten in both streams, and nothing else is", async (client) => {
  const one = shell("printf 'a hunter22 b'; printf '%s' hunter2 hunter22 er22 >&2", { masks: ["hunter22"] });
  const end = await run(client, one);
  assert.deepEqual([end.exitCode, end.stdoutBytes, end.stderrBytes], [0, 12, 19]);
  assert.equal(readFileSync(one.stdout, "utf8"), "a ******** b");
  assert.equal(readFileSync(one.stderr, "utf8"), "hunter2********er22");
});

await check(
  "masks that overlap, repeat and hold each other are found however the output is cut",
  async (client) => {
    for (let round = 0; round < 40; round++) {
      const letters = "ab".slice(0, 1 + random(2)) + "c".repeat(random(2));
      const masks = Array.from({ length: 1 + random(6) }, () => word(1 + random(9), letters));
      const text = word(3000, `${letters}xyz`.slice(0, letters.length + random(3)));
      writeFileSync(join(workDir, "text"), text);
      const one = shell(`dd if=text bs=${1 + random(40)} 2>/dev/null`, { masks });
      const end = await run(client, one);
      assert.deepEqual([end.exitCode, end.stdoutBytes], [0, 3000]);
      assert.equal(readFileSync(one.stdout, "utf8"), maskedOf(text, masks), `${masks} in round ${round}`);
    }
  },
);

await check("what may be the beginning of a masked text waits, and no more than that", async (client) => {
  const one = shell(
    "printf 'ready: hun'; while ! [ -e masked-go ]; do sleep 0.01; done; printf 'ter22!'; exec sleep 100",
    {
      masks: ["hunter22"],
    },
  );
  await started(client, one);
  await until(() => readFileSync(one.stdout, "utf8") === "ready: ");
  writeFileSync(join(workDir, "masked-go"), "");
  await until(() => readFileSync(one.stdout, "utf8") === "ready: ********!");
  client.send(frame.kill, one.id);
  await client.wait(one.id, frame.exited);
  const tail = shell("printf 'the end: hunter2'", { masks: ["hunter22"] });
  await run(client, tail);
  assert.equal(readFileSync(tail.stdout, "utf8"), "the end: hunter2");
});

await check("a limit inside a masked text shows nothing of it", async (client) => {
  for (const [stdoutMax, kept] of [
    [4, "a **"],
    [10, "a ********"],
    [11, "a ******** "],
    [12, "a ******** b"],
  ]) {
    const one = shell("printf 'a hunter22 b'; exec sleep 100 >&-", { masks: ["hunter22"], stdoutMax });
    await started(client, one);
    await until(() => readFileSync(one.stdout, "utf8") === kept);
    client.send(frame.kill, one.id);
    const end = await client.wait(one.id, frame.exited);
    assert.deepEqual([end.stdoutBytes, end.stdoutEnd.end], [stdoutMax, stdoutMax === 12 ? 0 : 1]);
  }
});

await check("100 MB through a mask arrive as they were written", async (client) => {
  const one = shell("head -c 100000000 /dev/urandom | tee sum.in | cat; sha256sum < sum.in >&2; rm sum.in", {
    masks: ["no such text in it", "nor this one"],
  });
  const end = await run(client, one);
  assert.deepEqual([end.exitCode, end.stdoutBytes], [0, 100_000_000]);
  const sum = execFileSync("sha256sum", [one.stdout], { encoding: "utf8" }).slice(0, 64);
  assert.equal(readFileSync(one.stderr, "utf8").slice(0, 64), sum);
});

await check("masks may be long and many, up to their limit; an empty one is refused", async (client) => {
  const long = word(maskBytesMax - 4096, "abcdefgh");
  writeFileSync(join(workDir, "text"), `<${long}>${long.slice(0, 500_000)}`);
  const whole = shell("cat text", { masks: [long] });
  await run(client, whole);
  const kept = readFileSync(whole.stdout, "utf8");
  assert.ok(kept === `<${"*".repeat(long.length)}>${long.slice(0, 500_000)}`);
  for (const masks of [[`${long}${"x".repeat(5000)}`], [""]]) {
    const refused = await run(client, plan(["true"], { masks }));
    assert.deepEqual([refused.type, refused.step], [frame.failed, "plan"]);
  }
});

await check("no other job's first process holds a copy of a mask", async (client) => {
  const masks = [word(40, "ABCDEFGHIJKLMNOP")];
  const first = await started(client, shell(`printf ${masks[0].slice(0, 30)}; exec sleep 100`, { masks }));
  const second = await started(client, shell("exec sleep 100"));
  // The first job's own process has it in its plan; that the search finds it there shows that it searches.
  assert.deepEqual([holds(first.pid, masks[0]), holds(second.pid, masks[0].slice(0, 20))], [true, false]);
});

function holds(pid, text) {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  return readFileSync(`/proc/${pid}/maps`, "utf8")
    .split("\n")
    .map((line) => /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line))
    .filter((range) => range !== null)
    .some(([, from, to]) => {
      const bytes = Buffer.alloc(
        Math.min(Number.parseInt(to, 16) - Number.parseInt(from, 16), 64 * 1024 ** 2),
      );
      try {
        return bytes
          .subarray(0, readSync(memory, bytes, 0, bytes.length, Number.parseInt(from, 16)))
          .includes(text);
      } catch {
        return false;
      }
    });
}
