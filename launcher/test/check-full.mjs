import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { check, nextId, plan, processes, scratch, shell, started, until } from "./check-stage.mjs";
import { frame, u32 } from "./launcher-client.mjs";

/** Output that meets a full disk: it waits, and so does the job. */

const MiB = 1024 ** 2;
const ways = { plain: {}, masked: { masks: ["hunter22"] }, held: { holdMs: 1000 } };

/** Gives the body a small disk, and a function that makes it large. */
async function onSmallDisk(body) {
  const disk = join(scratch, `disk-${nextId()}`);
  mkdirSync(disk);
  const mount = (options) => execFileSync("mount", ["-t", "tmpfs", "-o", options, "none", disk]);
  mount("size=256k");
  try {
    await body(disk, () => mount("remount,size=16m"));
  } finally {
    execFileSync("umount", ["-l", disk]);
  }
}

/** Writes numbered lines, so that a byte that is lost, doubled or moved is seen. */
const lines = (bytes) => `seq 1 1000000 | head -c ${bytes}`;
const expected = (bytes) => execFileSync("sh", ["-c", lines(bytes)], { maxBuffer: 8 * MiB });

for (const [name, way] of Object.entries(ways)) {
  await check(`a job that fills the disk waits, and continues when there is room (${name})`, (client) =>
    onSmallDisk(async (disk, makeRoom) => {
      const one = shell(`${lines(3 * MiB)}; echo end >&2`, { stdout: join(disk, "out"), ...way });
      await started(client, one);
      assert.equal((await client.wait(one.id, frame.stalled)).errno, 28);
      assert.notEqual(processes().length, 0);
      makeRoom();
      const end = await client.wait(one.id, frame.exited);
      assert.deepEqual([end.exitCode, end.stdoutBytes, end.stdoutEnd], [0, 3 * MiB, { end: 0, errno: 0 }]);
      assert.ok(readFileSync(one.stdout).equals(expected(3 * MiB)));
    }),
  );

  await check(`what a job left in its pipe on a full disk is kept until there is room (${name})`, (client) =>
    onSmallDisk(async (disk, makeRoom) => {
      const bytes = 256 * 1024 + 40_000;
      const one = plan(["/bin/sh", "-c", lines(bytes)], { stdout: join(disk, "out"), ...way });
      await started(client, one);
      await client.wait(one.id, frame.stalled);
      await until(() => processes().length === 0);
      makeRoom();
      const end = await client.wait(one.id, frame.exited);
      assert.deepEqual([end.exitCode, end.stdoutBytes, end.stdoutEnd.end], [0, bytes, 0]);
      assert.ok(readFileSync(one.stdout).equals(expected(bytes)));
    }),
  );

  await check(`a kill ends the wait for room, with a marker (${name})`, (client) =>
    onSmallDisk(async (disk) => {
      const running = shell("yes", { stdout: join(disk, "out"), ...way });
      const ended = shell(lines(50_000), { stdout: join(disk, "too"), ...way });
      for (const one of [running, ended]) {
        await started(client, one);
        await client.wait(one.id, frame.stalled);
        // No process of the job has this pid if the job has ended, and the launcher itself must not be signalled.
        if (one === ended) client.send(frame.signal, one.id, [[32, u32(15)]]);
        client.send(frame.kill, one.id);
        const end = await client.wait(one.id, frame.exited);
        assert.deepEqual(end.stdoutEnd, { end: 2, errno: 28 });
        assert.equal(end.stdoutBytes, readFileSync(one.stdout).length);
      }
    }),
  );
}

await check("a launcher that is told to end does not wait for room", (client) =>
  onSmallDisk(async (disk) => {
    const jobs = ["yes", lines(50_000)].map((script) => shell(script, { stdout: join(disk, `${nextId()}`) }));
    for (const one of jobs) {
      await started(client, one);
      await client.wait(one.id, frame.stalled);
    }
    client.socket.end();
    for (const one of jobs) {
      const end = await client.wait(one.id, frame.exited);
      assert.deepEqual(end.stdoutEnd, { end: 2, errno: 28 });
    }
  }),
);
