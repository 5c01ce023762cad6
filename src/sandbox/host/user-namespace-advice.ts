import { readFileSync } from "node:fs";

/** Settings of a host that forbid user namespaces, the forbidding value, and the command that allows them. */
const settings = [
  {
    file: "/proc/sys/user/max_user_namespaces",
    forbids: "0",
    advice: () => "as root, run: sysctl -w user.max_user_namespaces=15000",
  },
  {
    file: "/proc/sys/kernel/unprivileged_userns_clone",
    forbids: "0",
    advice: () => "as root, run: sysctl -w kernel.unprivileged_userns_clone=1",
  },
  {
    file: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    forbids: "1",
    advice: (launcherFile: string) =>
      `as root, write "abi <abi/4.0>, profile writ-launcher ${launcherFile} flags=(unconfined) { userns, }" ` +
      "to /etc/apparmor.d/writ-launcher and run: apparmor_parser -r /etc/apparmor.d/writ-launcher",
  },
] as const;

/** Files by which Docker and Podman mark their containers. */
const containerMarks = ["/.dockerenv", "/run/.containerenv"];
/** They refuse new namespaces by a seccomp filter or AppArmor, and a new /proc by covering parts of theirs. */
const containerAdvice =
  "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
  "--security-opt systempaths=unconfined";
const instead =
  "; a worker that runs as root on the host does not need user namespaces and gives the whole cage; bubblewrap needs " +
  "them too, unless it is installed set-uid root";

/**
 * How to let an ordinary user build cages on a host that forbids user namespaces, or a part of what they allow.
 * Why: ADR 0039.
 */
export function userNamespaceAdvice(launcherFile: string, read = readSetting): string {
  const setting = settings.find(({ file, forbids }) => read(file) === forbids)?.advice(launcherFile);
  const isContainer = containerMarks.some((file) => read(file) !== null);
  const place = isContainer
    ? containerAdvice
    : "run the worker outside of the chroot or container that it is in";
  return `${setting ?? place}${instead}`;
}

function readSetting(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    // A kernel without this setting has no such file.
    return null;
  }
}
