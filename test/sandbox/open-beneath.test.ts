import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { OpenHow } from "../../src/sandbox/launcher/launcher.ts";
import { cageTest, childNamed, isOrdinaryUser, rootTest, setStage } from "./cage-stage.ts";

const stage = setStage();

async function codeOf(path: string, how: OpenHow = "read"): Promise<string> {
  try {
    await (await stage.sandbox.launcher.openBeneath(join(stage.dir, "base"), path, how)).close();
    return "opened";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function layTree(): string {
  const base = join(stage.dir, "base");
  mkdirSync(join(base, "sub"), { recursive: true });
  writeFileSync(join(stage.dir, "secret"), "secret");
  writeFileSync(join(base, "sub/file"), "content");
  symlinkSync("../secret", join(base, "out"));
  symlinkSync("/etc/passwd", join(base, "absolute"));
  symlinkSync("sub", join(base, "inside"));
  return base;
}

cageTest("nothing leads out: not up, not by an absolute path, not through a link of any kind", async () => {
  layTree();
  for (const path of ["../secret", "sub/../../secret", "/etc/passwd"])
    expect(await codeOf(path)).toMatch(/^E(XDEV|INVAL|ACCES)$/);
  for (const path of ["out", "absolute", "inside/file"]) expect(await codeOf(path)).toBe("ELOOP");
  expect(await codeOf("sub/none")).toBe("ENOENT");
  expect(await codeOf("sub/file", "create")).toBe("EEXIST");
  expect(await codeOf("out", "create")).toMatch(/^E(EXIST|LOOP)$/);
});

cageTest("a file beneath is read, and a new one is written", async () => {
  const base = layTree();
  const read = await stage.sandbox.launcher.openBeneath(base, "sub/file", "read");
  expect(await read.readFile("utf8")).toBe("content");
  await read.close();
  const written = await stage.sandbox.launcher.openBeneath(base, "sub/new", "create");
  await written.writeFile("fresh");
  await written.close();
  expect(readFileSync(join(base, "sub/new"), "utf8")).toBe("fresh");
});

cageTest("A15: a second name of a file is refused", async () => {
  const base = layTree();
  linkSync(join(stage.dir, "secret"), join(base, "hard"));
  expect(await codeOf("hard")).toBe("EMLINK");
});

rootTest("A15: a file of somebody else is refused", async () => {
  const base = layTree();
  linkSync(join(stage.dir, "secret"), join(base, "hard"));
  // One whose other name has been removed since is still not the job's.
  rmSync(join(stage.dir, "secret"));
  chownSync(base, 65534, 65534);
  expect(await codeOf("hard")).toBe("EPERM");
  expect(await codeOf("sub", "directory")).toBe("EPERM");
  chownSync(join(base, "hard"), 65534, 65534);
  expect(await codeOf("hard")).toBe("opened");
});

cageTest("A15: a base that is a link of /proc, or a view of the kernel, is refused", async () => {
  const { launcher } = stage.sandbox;
  layTree();
  symlinkSync("base", join(stage.dir, "to-base"));
  const open = async (base: string, path: string): Promise<string> => {
    try {
      await (await launcher.openBeneath(base, path, "read")).close();
      return "opened";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  };
  // Without root the launcher may not even look: it is in another user namespace.
  expect(await open(`/proc/${process.pid}/root`, "etc/passwd")).toBe(isOrdinaryUser() ? "EACCES" : "ELOOP");
  expect(await open("/proc/self/cwd", "etc/passwd")).toBe("ELOOP");
  expect(await open(`/proc/${process.pid}`, "environ")).toBe("EINVAL");
  expect(await open("/sys/kernel", "uevent_seqnum")).toBe("EINVAL");
  expect(await open("base", "sub/file")).toBe("EINVAL");
  expect(await open(join(stage.dir, "to-base"), "sub/file")).toBe("opened");
});

cageTest("the launcher keeps nothing open for files that were taken", async () => {
  const base = layTree();
  writeFileSync(join(base, "sub/again"), "content");
  for (let i = 0; i < 600; i++) {
    await (
      await stage.sandbox.launcher.openBeneath(base, i % 2 === 0 ? "sub/file" : "sub/again", "read")
    ).close();
  }
  expect(readdirSync(`/proc/${childNamed("writ-launcher")}/fd`).length).toBeLessThan(40);
});
