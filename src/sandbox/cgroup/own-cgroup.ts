/** Where cgroup v2 is mounted, and which part of it this process is in. All paths are of this host. */
export type OwnCgroup = {
  /** The directory of the mount. */
  mount: string;
  /** The directory of this process's cgroup; the mount itself if that is its root. */
  own: string;
};

/** Finds both in the texts of /proc/self/mountinfo and /proc/self/cgroup; null if there is no cgroup v2. */
export function findOwnCgroup(mountinfo: string, selfCgroup: string): OwnCgroup | null {
  const inside = /^0::(\/.*)$/m.exec(selfCgroup)?.[1];
  if (inside === undefined) return null;
  for (const { root, mountPoint } of unifiedMounts(mountinfo)) {
    const below = pathBelow(root, inside.replace(/ \(deleted\)$/, ""));
    if (below !== null) return { mount: mountPoint, own: below === "" ? mountPoint : mountPoint + below };
  }
  return null;
}

/** On hosts with both versions of cgroups it is mounted beside the old ones, elsewhere in their place. */
function* unifiedMounts(mountinfo: string): Generator<{ root: string; mountPoint: string }> {
  for (const line of mountinfo.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root, mountPoint] = before.split(" ");
    if (!after.startsWith("cgroup2 ") || root === undefined || mountPoint === undefined) continue;
    yield { root: readOctals(root), mountPoint: readOctals(mountPoint) };
  }
}

/** A mount may show only a part of the tree; then this process's cgroup has to be in that part. */
function pathBelow(root: string, path: string): string | null {
  if (root === "/") return path === "/" ? "" : path;
  if (path === root) return "";
  return path.startsWith(`${root}/`) ? path.slice(root.length) : null;
}

/** The kernel writes spaces and the like in octal. */
function readOctals(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}
