import { spawnSync } from "node:child_process";

/** The paths of all libraries that a program is loaded with, its loader included; none for a static one. */
export function sharedLibraries(program) {
  // ldd fails for static programs and scripts, and then prints no path.
  const result = spawnSync("ldd", [program], { encoding: "utf8" });
  if (result.error) throw new Error(`ldd could not be run: ${result.error.message}`);
  const missing = /^\s*(\S+) => not found/m.exec(result.stdout)?.[1];
  if (missing !== undefined) throw new Error(`${program} needs ${missing}, which is not on this host`);
  return [...result.stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map((match) => match[1]);
}
