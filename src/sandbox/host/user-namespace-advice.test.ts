import { expect, test } from "vitest";
import { userNamespaceAdvice } from "./user-namespace-advice.ts";

function adviceWith(settings: Record<string, string>): string {
  return userNamespaceAdvice("/opt/writ/writ-launcher", (file) => settings[file] ?? null);
}

test("the advice names the setting that forbids user namespaces, and how to change it", () => {
  expect(adviceWith({ "/proc/sys/user/max_user_namespaces": "0" })).toMatch(
    /^as root, run: sysctl -w user.max_user_namespaces=15000; a worker that runs as root/,
  );
  expect(
    adviceWith({
      "/proc/sys/user/max_user_namespaces": "15000",
      "/proc/sys/kernel/unprivileged_userns_clone": "0",
    }),
  ).toMatch(/^as root, run: sysctl -w kernel.unprivileged_userns_clone=1; /);
  expect(adviceWith({ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1" })).toContain(
    "profile writ-launcher /opt/writ/writ-launcher flags=(unconfined) { userns, }",
  );
});

test("without a forbidding setting, the advice is about the place that the worker runs in", () => {
  const settings = { "/proc/sys/user/max_user_namespaces": "96343" };
  expect(adviceWith(settings)).toMatch(/^run the worker outside of the chroot or container that it is in; /);
  expect(adviceWith({ ...settings, "/.dockerenv": "" })).toMatch(
    /^start the container with --security-opt seccomp=/,
  );
});
