import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../docs/page.ts";
import versions from "./versions.json" with { type: "json" };

export type AgentName = keyof typeof versions;

/** A real coding agent, as npm has it. None of them is part of this project or of what it ships. */
export type InstalledAgent = {
  /** In place of the program's name in a command. */
  command: string[];
  /** What a cage has to show for it. */
  visiblePaths: string[];
  model: string;
};

/** Lies in node_modules, so that a clean install forgets it. */
const cache = join(root, "node_modules/.writ/agents");
const installMs = 300_000;

export const agentNames = Object.keys(versions) as AgentName[];

/**
 * Installs the version that versions.json names into a folder of its own, unless it is there already. Throws if the
 * registry does not have it, or cannot be reached.
 */
export function installAgent(name: AgentName): InstalledAgent {
  const { package: id, version, model } = versions[name];
  const dir = join(cache, `${name}-${version}`);
  if (!existsSync(dir)) installInto(dir, `${id}@${version}`);
  const manifest = JSON.parse(readFileSync(join(dir, "node_modules", id, "package.json"), "utf8"));
  if (manifest.version !== version) throw new Error(`${dir} has version ${manifest.version} of ${id}`);
  const [file] = Object.values(manifest.bin as Record<string, string>);
  const program = realpathSync(join(dir, "node_modules", id, file!));
  const isScript = readFileSync(program).subarray(0, 60).toString("latin1").startsWith("#!/usr/bin/env node");
  // The Node of the host may be too old for it, or nowhere that a cage shows.
  const command = isScript ? [process.execPath, program] : [program];
  return { command, visiblePaths: [dir, dirname(process.execPath)], model };
}

/** Whole or not at all; the second process uses what the first has made. */
export function installInto(dir: string, what: string): void {
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(`${dir}.`);
  try {
    // Where there is no registry, that is known soon.
    const args = [
      "install",
      "--prefix",
      made,
      "--no-audit",
      "--no-fund",
      "--no-save",
      "--fetch-retries=1",
      "--loglevel=error",
      what,
    ];
    execFileSync("npm", args, { cwd: made, stdio: ["ignore", "ignore", "pipe"], timeout: installMs });
    execFileSync("chmod", ["-R", "a+rX", made]);
    renameSync(made, dir);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(dir)) throw error;
  }
}
