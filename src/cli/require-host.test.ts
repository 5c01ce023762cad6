import { expect, test } from "vitest";
import { requireHost } from "./require-host.ts";

const linux = { program: "writ", commandName: "up", platform: "linux", nodeVersion: "v26.10.0" } as const;

test("a hub and a worker are refused on other systems than Linux, in one line that says what works there", () => {
  for (const platform of ["darwin", "win32"] as const)
    expect(() => requireHost({ ...linux, platform }, "server")).toThrow(
      `writ up needs Linux, and this is ${platform}; here you can use a hub that runs on Linux, with --hub`,
    );
});

test("a Node that is too old for them is named, with what to do", () => {
  for (const need of ["server", "database"] as const)
    expect(() => requireHost({ ...linux, nodeVersion: "v20.20.2" }, need)).toThrow(
      /^writ up needs Node 26 or newer, and this is v20\.20\.2; install that/,
    );
});

test("everything else runs anywhere", () => {
  requireHost(linux, "server");
  requireHost({ ...linux, platform: "darwin" }, "database");
  requireHost({ ...linux, platform: "win32", nodeVersion: "v20.0.0" }, undefined);
});
