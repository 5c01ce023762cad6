import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, launcherFile, nextId, scratch } from "./check-stage.mjs";
import { frame, openHow, text, u32 } from "./launcher-client.mjs";

/** What jobs leave in their directories: which files are opened for the worker, and that all of it can be removed. */

await check("the door refuses second names, files of others and bases in /proc", async (client) => {
  const dir = join(scratch, "others");
  mkdirSync(dir);
  for (const name of ["one", "linked", "foreign"]) writeFileSync(join(dir, name), "content");
  execFileSync("ln", [join(dir, "linked"), join(dir, "second")]);
  chownSync(join(dir, "foreign"), 65534, 65534);
  const errnoOf = async (base, path) => {
    const id = nextId();
    client.send(frame.open, id, [
      [33, text(base)],
      [34, text(path)],
      [35, u32(openHow.read)],
    ]);
    return (await client.wait(id, frame.opened, frame.openFailed)).errno ?? 0;
  };
  assert.equal(await errnoOf(dir, "one"), 0);
  assert.equal(await errnoOf(dir, "second"), 31);
  assert.equal(await errnoOf(dir, "foreign"), 1);
  assert.equal(await errnoOf("/proc/self/root", "etc/passwd"), 40);
  assert.equal(await errnoOf("/proc/self", "environ"), 22);
});

await check("remove empties a directory, however deep", async () => {
  const dir = join(scratch, "remove");
  mkdirSync(dir);
  const nest =
    "d=$(printf %0200d 0); for i in $(seq 40); do mkdir $d && cd -P $d || exit 9; done; touch leaf";
  execFileSync("/bin/sh", ["-c", nest], { cwd: dir });
  mkdirSync(join(dir, "closed/sub"), { recursive: true, mode: 0 });
  symlinkSync("/etc", join(dir, "link"));
  execFileSync(launcherFile, ["remove", dir]);
  assert.deepEqual(readdirSync(dir), []);
  assert.ok(existsSync("/etc/passwd"));
});
