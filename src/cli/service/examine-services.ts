import { readFileSync, statSync } from "node:fs";
import { hasCode } from "../../core/errors.ts";
import { installedRoles, unitPath, usualHome } from "./service-plan.ts";
import { type ServiceRole, serviceNames } from "./unit.ts";

type ServiceFinding = { check: "service"; state: "ok" | "warning" | "problem"; says: string };

type InstalledUnit = { role: ServiceRole; isOfUser: boolean; userHome: string; words: string[] };

/**
 * Whether the units on this machine start something that is there, and that stays when the package is upgraded. Version 0.1
 * wrote units that start a Node inside the package's folder, which `npm install` of another version removes.
 * Why: ADR 0101.
 */
export function examineServices(userHome: string): ServiceFinding[] {
  return [false, true].flatMap((isOfUser) =>
    installedRoles(isOfUser, userHome).flatMap((role) => {
      const words = startWords(unitPath({ role, isOfUser }, userHome));
      return words === undefined ? [] : [examineUnit({ role, isOfUser, userHome, words })];
    }),
  );
}

function examineUnit(unit: InstalledUnit): ServiceFinding {
  const [node = "", file = ""] = unit.words;
  const name = serviceNames[unit.role];
  const missing = [node, file].find(isMissing);
  if (missing !== undefined) {
    const says = `${name} cannot start: ${missing} does not exist; run: ${installAgain(unit)}`;
    return { check: "service", state: "problem", says };
  }
  if (node.includes("/node_modules/writ/")) {
    const why = `${name} starts ${node}, which \`npm install\` of another version removes`;
    return { check: "service", state: "warning", says: `${why}; run: ${installAgain(unit)}` };
  }
  return { check: "service", state: "ok", says: `${name} starts ${node} ${file}` };
}

/** Writes the unit anew, for the same home, with the Node that is there now. */
function installAgain({ role, isOfUser, userHome, words }: InstalledUnit): string {
  const folder = /^(.+?)\/node_modules\//.exec(words[1] ?? "")?.[1];
  const home = words[words.indexOf("--home") + 1];
  return [
    ...(folder === undefined ? [] : [`cd ${shellWord(folder)} &&`]),
    ...(isOfUser ? [] : ["sudo"]),
    "npx writ install",
    ...(role === "up" ? [] : [role]),
    ...(isOfUser ? ["--user"] : []),
    ...(home === undefined || home === usualHome({ role, isOfUser }, userHome)
      ? []
      : [`--home ${shellWord(home)}`]),
  ].join(" ");
}

function shellWord(word: string): string {
  return /^[\w./@:+-]+$/.test(word) ? word : `"${word.replaceAll(/["$`\\]/g, String.raw`\$&`)}"`;
}

/** The words of a unit's `ExecStart`, as systemd reads them; undefined if the unit cannot be read or is not as we write it. */
function startWords(path: string): string[] | undefined {
  try {
    const line = /^ExecStart=(.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
    return line?.match(/"(?:\\.|[^"\\])*"|[^\s"]+/g)?.map(unquote);
  } catch {
    // No such unit, or this user cannot read it.
    return undefined;
  }
}

function unquote(word: string): string {
  const bare = word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, "$1") : word;
  return bare.replaceAll("%%", "%").replaceAll("$$", "$");
}

/** A folder that this user may not look into says nothing about what is there. */
function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR");
  }
}
