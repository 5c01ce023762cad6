import { limitParts } from "../cgroup/cgroup-limits.ts";
import { type HostFacts, type PartName, partNames } from "./host-facts.ts";

/** A host that supports everything except the parts listed. */
export function hostFacts(lacking: readonly PartName[] = [], changes: Partial<HostFacts> = {}): HostFacts {
  const parts = Object.fromEntries(
    partNames.map((part) => {
      const had = !lacking.includes(part);
      return [part, { had, why: had ? "" : `no ${part}`, advice: had ? "" : `get ${part}` }];
    }),
  );
  return {
    parts: parts as HostFacts["parts"],
    launcherObstacle: null,
    rights: { kind: "own" },
    isRoot: true,
    countsProcesses: false,
    kernel: "6.1.0-40-cloud-amd64",
    rootEntries: [
      { path: "/bin", linkTarget: "usr/bin" },
      { path: "/opt", linkTarget: null },
      { path: "/usr", linkTarget: null },
    ],
    openFilesMax: 1_048_576,
    jobsDir: "/sys/fs/cgroup/writ/jobs",
    controllers: limitParts.filter((part) => !lacking.includes(part)),
    disk: "254:0",
    diskFreeBytes: () => 10 * 1024 ** 3,
    ...changes,
  };
}
