import { readFileSync } from "node:fs";

/** Settings of a host by which user namespaces are forbidden, the value that forbids them, and what allows them again. */
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

/** How to let an ordinary user build cages on a host that forbids user namespaces. */
export function userNamespaceAdvice(launcherFile: string, read = readSetting): string {
  const forbidding = settings.find(({ file, forbids }) => read(file) === forbids);
  return (
    forbidding?.advice(launcherFile) ??
    "run the worker as root, or outside of the container or chroot that forbids user namespaces"
  );
}

function readSetting(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return null;
  }
}
