import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { jobMountSteps, jobMountsProblem } from "./job-mounts.ts";
import { mountFlag, mountKind } from "./launcher/launcher-protocol.ts";
import type { JobMount } from "./sandbox.ts";

const dir = mkdtempSync(join(tmpdir(), "writ-mounts-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function mount(changes: Partial<JobMount> = {}): JobMount {
  return { source: "/srv/repo", target: "/srv/repo", access: "read-only", ...changes };
}

describe("mounts are refused", () => {
  test.each([
    [{ source: "repo" }, 'source "repo" must be an absolute path'],
    [{ source: "/" }, "below /"],
    [{ source: "/srv/../etc" }, "without . and .."],
    [{ source: "/srv/repo/" }, "without / at its end"],
    [{ target: "repo" }, 'target "repo" must be an absolute path'],
    [{ target: "/" }, "below /"],
    [{ target: "/srv/./repo" }, "without . and .."],
    [{ target: "/srv//repo" }, "without . and .."],
    [{ target: "/proc/1" }, "/proc is reserved for the cage"],
    [{ target: "/dev/sda" }, "/dev is reserved for the cage"],
    [{ target: "/sys" }, "/sys is reserved for the cage"],
    [{ target: "/work" }, "/work is the job's own"],
    [{ target: "/tmp" }, "/tmp is the job's own"],
    [{ idmapped: { uid: -1, gid: 0 } }, "idmapped -1:0"],
    [{ idmapped: { uid: 0, gid: 2 ** 32 - 1 } }, "idmapped 0:4294967295"],
    [{ idmapped: { uid: 1.5, gid: 0 } }, "idmapped 1.5:0"],
  ])("with %j", (changes, why) => {
    expect(jobMountsProblem([mount(changes)])).toContain(why);
  });

  test("mounts are refused when a later one would cover an earlier one", () => {
    const prefix = mount({ target: "/srv/repo/src" });
    expect(jobMountsProblem([prefix, mount()])).toContain("it would cover /srv/repo/src");
    expect(jobMountsProblem([mount(), mount()])).toContain("it would cover /srv/repo");
    expect(jobMountsProblem([mount(), prefix])).toBeNull();
  });

  test("mounts are refused when there are too many", () => {
    const many = Array.from({ length: 129 }, (_, index) => mount({ target: `/d/${index}` }));
    expect(jobMountsProblem(many)).toBe("a job has at most 128 mounts, not 129");
    expect(jobMountsProblem(many.slice(1))).toBeNull();
  });

  test("mounts are refused when a source is a link, a pipe or missing", async () => {
    symlinkSync("/etc", join(dir, "link"));
    execFileSync("mkfifo", [join(dir, "pipe")]);
    const steps = (name: string) => jobMountSteps([mount({ source: join(dir, name) })]);
    await expect(steps("link")).rejects.toMatchObject({ name: "PlanRefused", code: "EINVAL" });
    await expect(steps("link")).rejects.toThrow("is a symbolic link; use the path that it leads to");
    await expect(steps("pipe")).rejects.toThrow("is neither a directory nor a plain file");
    await expect(steps("none")).rejects.toThrow("cannot be used: ENOENT");
  });
});

test("mounts become steps in their order, each with its flags", async () => {
  const [repo, file] = [join(dir, "repo"), join(dir, "file")];
  mkdirSync(repo);
  writeFileSync(file, "");
  const steps = await jobMountSteps([
    mount({ source: repo }),
    mount({ source: repo, target: "/srv/repo/src", access: "writable", idmapped: { uid: 1000, gid: 100 } }),
    mount({ source: file, target: "/work/inputs/file", noexec: true }),
  ]);
  const { JOB } = mountKind;
  expect(steps).toEqual([
    { kind: JOB, source: repo, target: "/srv/repo", flags: 0 },
    {
      kind: JOB,
      source: repo,
      target: "/srv/repo/src",
      flags: mountFlag.WRITABLE | mountFlag.IDMAP,
      uid: 1000,
      gid: 100,
    },
    { kind: JOB, source: file, target: "/work/inputs/file", flags: mountFlag.ONE_FILE | mountFlag.NOEXEC },
  ]);
});
