import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { examineCage } from "../../src/sandbox/host/examine-cage.ts";
import { type JobMount, SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { cageTest, isOrdinaryUser, planJob, rootTest, runJob, runScript, setStage } from "./cage-stage.ts";

const stage = setStage();
/** Somebody else, or without root the user who runs the worker: on the host a job is that user then. */
const alice = isOrdinaryUser()
  ? { uid: process.getuid!(), gid: process.getgid!() }
  : { uid: 1234, gid: 2345 };

/** Of Alice: a file, and two folders of which jobs may be given one. */
function makeRepo(): string {
  const repo = join(realpathSync(stage.dir), "repo");
  for (const path of ["", "src", "docs"]) mkdirSync(join(repo, path));
  writeFileSync(join(repo, "README"), "read me\n");
  writeFileSync(join(repo, "src/main"), "one\n", { mode: 0o640 });
  for (const path of ["", "src", "docs", "README", "src/main"])
    chownSync(join(repo, path), alice.uid, alice.gid);
  // The folders that lead there are the test's own, 0700, and are not in the job's way.
  chmodSync(repo, 0o755);
  return repo;
}

const readOnly = (source: string, target = source): JobMount => ({ source, target, access: "read-only" });
const asAlice = (source: string, target = source): JobMount => ({
  source,
  target,
  access: "writable",
  idmapped: alice,
});

/** Where the kernel or the disk does not support idmapped mounts, such a job is released. */
function ownerTest(name: string, run: () => Promise<void>): void {
  cageTest(name, async () => {
    if (stage.sandbox.facts.parts.idmap.had) return run();
    const started = stage.sandbox.start(planJob(stage, ["true"], { mounts: [asAlice(makeRepo())] }));
    await expect(started).rejects.toThrow("idmap");
  });
}

cageTest("a mount that cannot be made is the job's own fault, and no other job hears of it", async () => {
  const repo = makeRepo();
  const other = await stage.sandbox.start(planJob(stage, ["sleep", "60"]));
  symlinkSync("/etc", join(repo, "link"));
  symlinkSync(repo, join(repo, "..", "alias"));
  const cases: [JobMount[], string][] = [
    [[readOnly("repo", "/repo")], 'source "repo" must be an absolute path'],
    [[readOnly(`${repo}/../repo`, "/repo")], "without . and .."],
    [[readOnly(repo, "/repo/../etc")], "without . and .."],
    [[readOnly(join(repo, "link"), "/repo")], "is a symbolic link"],
    [[readOnly(join(realpathSync(stage.dir), "alias/src"), "/repo")], "ELOOP"],
    [[readOnly(join(repo, "none"), "/repo")], "ENOENT"],
    [[readOnly(repo), readOnly(join(repo, "src"), join(repo, "link"))], "ELOOP"],
    [[readOnly(repo), readOnly(join(repo, "src"), join(repo, "new"))], "EROFS"],
    [Array.from({ length: 129 }, (_, index) => readOnly(repo, `/r/${index}`)), "at most 128 mounts"],
  ];
  for (const [mounts, why] of cases) {
    const { spawnError, exitCode } = await runJob(stage, ["true"], { mounts });
    expect([why, spawnError?.code, exitCode]).toEqual([why, "EINVAL", null]);
    expect(spawnError?.message).toContain(why);
  }
  expect(existsSync(join(repo, "new"))).toBe(false);
  await other.killTree();
  expect(await other.exited).toMatchObject({ signal: "SIGKILL" });
});

cageTest(
  "a file system without idmapped mounts releases the job, and the host is not down for that",
  async () => {
    const mounts: JobMount[] = [{ ...asAlice("/proc/sys", "/x"), idmapped: { uid: 0, gid: 0 } }];
    const started = stage.sandbox.start(planJob(stage, ["true"], { mounts }));
    const error = await started.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SandboxUnavailable);
    expect(error).toMatchObject({ isHostDown: false, message: expect.stringContaining("idmap") });
    expect(await runJob(stage, ["true"])).toMatchObject({ exitCode: 0 });
  },
);

rootTest("an owner that is not the source's is refused", async () => {
  if (!stage.sandbox.facts.parts.idmap.had) return;
  const mounts = [{ ...asAlice(makeRepo(), "/repo"), idmapped: { uid: 1, gid: 1 } }];
  const { spawnError } = await runJob(stage, ["true"], { mounts });
  expect(spawnError?.message).toContain("belongs to 1234:2345, not to 1:1");
});

ownerTest(
  "a repository is read-only at its own path, except a folder where the job writes as its owner",
  async () => {
    const repo = makeRepo();
    const src = join(repo, "src");
    const mounts = [readOnly(repo), asAlice(src)];
    const plan = planJob(stage, ["true"], { mounts });
    expect((await stage.sandbox.probe(plan)).applied).toContain("idmap");

    const script =
      "pwd; cat src/main; echo two >> src/main; mkdir src/new; echo x > README; echo x > docs/x; touch x";
    const { stdout, stderr, exitCode } = await runScript(stage, script, { cwd: repo, mounts });
    expect(stdout).toBe(`${repo}\none\n`);
    expect(stderr.match(/Read-only file system/g)).toHaveLength(3);
    expect(exitCode).not.toBe(0);
    expect(readFileSync(join(src, "main"), "utf8")).toBe("one\ntwo\n");
    expect(statSync(join(src, "new"))).toMatchObject(alice);
    expect(statSync(join(src, "main"))).toMatchObject(alice);
    expect(readdirSync(join(repo, "docs"))).toEqual([]);
  },
);

ownerTest(
  "inputs lie read-only in the job's own folder, and a single file can be given to write to",
  async () => {
    const repo = makeRepo();
    const main = join(repo, "src/main");
    const mounts = [
      readOnly(join(repo, "README"), "/work/inputs/README"),
      readOnly(join(repo, "docs"), "/work/inputs/docs"),
      asAlice(main, "/work/main"),
    ];
    const script = "cat inputs/README; ls inputs; echo three > main; rm inputs/README; touch inputs/docs/x";
    const { stdout, stderr } = await runScript(stage, script, { mounts });
    expect(stdout).toBe("read me\nREADME\ndocs\n");
    expect(stderr).toMatch(/inputs\/README/);
    expect(stderr).toMatch(/docs\/x'?: Read-only/);
    expect(readFileSync(main, "utf8")).toBe("three\n");
    expect(statSync(main)).toMatchObject(alice);
  },
);

ownerTest("a job that may act for somebody can make no program that lends that person's rights", async () => {
  const src = join(makeRepo(), "src");
  const script =
    "cp /bin/true tool; chmod u+s tool; chmod 2755 tool; chmod 755 tool && ls -l tool | cut -c1-10";
  const { stdout, stderr } = await runScript(stage, script, { cwd: src, mounts: [asAlice(src)] });
  expect(stderr.match(/Operation not permitted/g)).toHaveLength(2);
  expect(stdout).toBe("-rwxr-xr-x\n");
});

cageTest("the doctor says whether mounts can have their owner mapped", async () => {
  const { parts } = await examineCage({ workDir: stage.dir, pid: process.pid, uid: process.getuid!() });
  const { had } = stage.sandbox.facts.parts.idmap;
  expect(parts.find(({ part }) => part === "idmap")).toMatchObject({ had });
});
