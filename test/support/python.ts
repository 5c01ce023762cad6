import { spawnSync } from "node:child_process";
import { join } from "node:path";

export const hasModule = (name: string): boolean =>
  spawnSync("python3", ["-c", `import ${name}`]).status === 0;

/** Why the Python package cannot be tried here, as a part of a test's name, or nothing. */
export const pythonNote = hasModule("ssl") ? "" : " (not capable: no python3 with OpenSSL)";
export const hasPython = pythonNote === "";

/** The environment of a program that uses the package of this tree, and nothing else of ours. */
export function pythonEnv(more: Record<string, string>): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    PYTHONPATH: join(import.meta.dirname, "../../python"),
    PYTHONDONTWRITEBYTECODE: "1",
    ...more,
  };
}
