import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeHome } from "../support/remove-home.ts";
import { hostNode, npmInstall } from "./installed-package.ts";

/** Node as npm has it: a package for each platform whose only content is the program. */
const nodePackage = `node-${process.platform}-${process.arch}`;

export type Nodes = { obstacle: string | null; fileOf(major: number): string; remove(): void };

/** The Node of each of these versions: the machine's own or the checkout's where it is that one, else from npm. */
export function findNodes(majors: readonly number[]): Nodes {
  const atHand = new Map([process.execPath, hostNode()].map((file) => [majorOf(file), file]));
  const dir = mkdtempSync(join(tmpdir(), "writ-nodes-"));
  const obstacle = installNodes(
    dir,
    majors.filter((major) => !atHand.has(major)),
  );
  return {
    obstacle,
    fileOf: (major) => atHand.get(major) ?? join(dir, `node_modules/node-${major}/bin/node`),
    remove: () => removeHome(dir),
  };
}

export function majorOf(node: string): number {
  const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  return Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 0);
}

/** Installs them side by side, or returns why that is not possible here. */
function installNodes(dir: string, majors: readonly number[]): string | null {
  if (majors.length === 0) return null;
  writeFileSync(join(dir, "package.json"), "{}\n");
  const wanted = majors.map((major) => `node-${major}@npm:${nodePackage}@${major}`);
  try {
    npmInstall(dir, ["--ignore-scripts", "--force", ...wanted]);
    return null;
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return `npm cannot install ${nodePackage}: ${String(stderr).trim().split("\n")[0]}`;
  }
}
