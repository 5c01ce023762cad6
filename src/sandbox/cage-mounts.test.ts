import { expect, test } from "vitest";
import { cageMounts, isProgramDir, isVisibleInCage, noInputFile, visiblePathProblem } from "./cage-mounts.ts";
import { hostFacts } from "./host/host-facts.testing.ts";
import { mountFlag, mountKind } from "./launcher/launcher-protocol.ts";

const { rootEntries } = hostFacts();
const mounts = (visiblePaths: string[] = [], memoryBytes: number | null = null) =>
  cageMounts({ rootEntries, visiblePaths, workDir: "/home/jobs/1/work", memoryBytes, jobMounts: [] });
const targets = (visiblePaths: string[] = []) => mounts(visiblePaths).map(({ target }) => target);

test("the mounts of a job include no path of the host that could hold a secret", () => {
  for (const name of [
    "home",
    "root",
    "var",
    "srv",
    "run",
    "etc",
    "boot",
    "sys",
    "mnt",
    "tmp",
    "lib-secret",
  ]) {
    expect(isProgramDir(name)).toBe(false);
  }
  const bound = mounts().flatMap(({ kind, source }) => (kind === mountKind.BIND_RO ? [source] : []));
  expect(bound.every((source) => /^\/(usr|opt|etc\/[a-z.-]+)$/.test(source!))).toBe(true);
  expect(targets()).not.toContain("/etc/shadow");
});

test("a job can write only to its own directory of the host", () => {
  const writable = mounts().filter(({ kind }) => kind === mountKind.BIND_RW);
  expect(writable).toEqual([{ kind: mountKind.BIND_RW, target: "/work", source: "/home/jobs/1/work" }]);
});

test("every cage has the input of jobs without one, which no job can change", () => {
  const input = mounts().filter(({ target }) => target === noInputFile);
  expect(input).toEqual([{ kind: mountKind.FILE, target: noInputFile, mode: 0o444, source: "null" }]);
});

test("links of the root directory stay links, and directories are bound", () => {
  expect(mounts().slice(0, 3)).toEqual([
    { kind: mountKind.SYMLINK, target: "/bin", source: "usr/bin" },
    { kind: mountKind.BIND_RO, target: "/opt", source: "/opt" },
    { kind: mountKind.BIND_RO, target: "/usr", source: "/usr" },
  ]);
  for (const name of ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt"]) {
    expect(isProgramDir(name)).toBe(true);
  }
});

test("paths that this host does not have are left out", () => {
  const resolv = mounts().find(({ target }) => target === "/etc/resolv.conf");
  expect(resolv?.flags).toBe(mountFlag.SKIP_MISSING);
});

test("/tmp is as large as the job's memory limit, or 256 MiB", () => {
  const tmpBytes = (memoryBytes: number | null) =>
    mounts([], memoryBytes).find(({ target }) => target === "/tmp")?.sizeBytes;
  expect(tmpBytes(null)).toBe(256 * 1024 ** 2);
  expect(tmpBytes(4 * 1024 ** 2)).toBe(4 * 1024 ** 2);
});

test("visible paths of the settings are mounted once, and not inside of other mounts", () => {
  expect(
    targets(["/data/models/a", "/data/models", "/usr/share/x"]).filter((path) => /data|share/.test(path)),
  ).toEqual(["/data/models"]);
});

test("paths that a cage cannot show are refused with a reason", () => {
  expect(visiblePathProblem("data")).toContain("absolute");
  expect(visiblePathProblem("/data/../etc")).toContain("without . and ..");
  expect(visiblePathProblem("/data//x")).toContain("without . and ..");
  expect(visiblePathProblem("/data/")).toContain("without . and ..");
  expect(visiblePathProblem("/")).toContain("cannot be shown");
  for (const path of ["/proc", "/proc/1", "/dev/sda", "/sys", "/work", "/tmp/x"]) {
    expect(visiblePathProblem(path)).toContain("reserved for the cage");
  }
  expect(visiblePathProblem("/data/models")).toBeNull();
});

test("a process may start only in a directory that it sees", () => {
  const isSeen = (path: string) => {
    const jobMounts = [{ kind: mountKind.JOB, target: "/srv/repo", source: "/srv/repo" }];
    return isVisibleInCage(path, { rootEntries, visiblePaths: ["/data/models"], jobMounts });
  };
  for (const path of ["/", "/root", "/data", "/workshop", "/work/../root", "/home", "/srv"])
    expect(isSeen(path)).toBe(false);
  for (const path of ["/work", "/work/a", "/tmp", "/usr/share", "/data/models/x", "/srv/repo/src"])
    expect(isSeen(path)).toBe(true);
});
