import { existsSync } from "node:fs";

/** Debian's crun and podman know cgroups of version 1 or 2, not both side by side; then they are shown version 2 alone. */
const isHybrid = !existsSync("/sys/fs/cgroup/cgroup.controllers");

/** What stands before a command that starts or ends a container. */
export const plainCgroups = isHybrid
  ? [
      "unshare",
      "--mount",
      "sh",
      "-c",
      'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"',
      "sh",
    ]
  : [];
