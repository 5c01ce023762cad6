import { expect, test } from "vitest";
import { findOwnCgroup } from "./own-cgroup.ts";

const unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
const hybrid = [
  "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755",
  "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu",
  "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
].join("\n");

test("a host with the old hierarchy alone has no place", () => {
  expect(findOwnCgroup(hybrid.split("\n").slice(0, 2).join("\n"), "1:cpu:/\n0::/\n")).toBeNull();
  expect(findOwnCgroup(unified, "1:cpu:/\n")).toBeNull();
});

test("the own cgroup is found below the mount", () => {
  const service = "0::/system.slice/writ.service\n";
  expect(findOwnCgroup(unified, service)).toEqual({
    mount: "/sys/fs/cgroup",
    own: "/sys/fs/cgroup/system.slice/writ.service",
  });
});

test("beside the old hierarchy the line with the empty name counts", () => {
  expect(findOwnCgroup(hybrid, "9:name=systemd:/\n4:memory:/somewhere\n0::/\n")).toEqual({
    mount: "/sys/fs/cgroup/unified",
    own: "/sys/fs/cgroup/unified",
  });
});

test("a mount of a part of the hierarchy is used when this process is in that part", () => {
  const part = "30 23 0:26 /docker/a\\040b /cg rw - cgroup2 cgroup2 rw";
  expect(findOwnCgroup(part, "0::/docker/a b/c\n")).toEqual({ mount: "/cg", own: "/cg/c" });
  expect(findOwnCgroup(part, "0::/docker/other\n")).toBeNull();
});
