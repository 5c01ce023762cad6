import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { onceForRun } from "../run/once-for-run.ts";
import { removeHome } from "../support/remove-home.ts";

const root = join(import.meta.dirname, "../..");
const npmCli = findOnPath("npm");

export type InstalledPackage = {
  /** The folder that it was installed into, as a user would. */
  app: string;
  /** The package itself. */
  folder: string;
  tarball: string;
  remove(): void;
};

/** Packs the checkout and installs the tarball into an empty folder, without a network: it has no dependencies. */
export function installPackage(): InstalledPackage {
  const dir = mkdtempSync(join(tmpdir(), "writ-package-"));
  chmodSync(dir, 0o755);
  const tarball = packInto(join(dir, "out"));
  const app = join(dir, "app");
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "type": "module" }\n');
  npmInstall(app, [tarball, "--offline"]);
  return { app, folder: join(app, "node_modules/writ"), tarball, remove: () => removeHome(dir) };
}

/** Puts the tarball of the checkout into a folder. It is made once for all tests of a run, by the first that needs it. */
export function packInto(outDir: string): string {
  const tarball = onceForRun("package", makeTarball);
  mkdirSync(outDir, { recursive: true });
  const copy = join(outDir, basename(tarball));
  copyFileSync(tarball, copy);
  return copy;
}

function makeTarball(dir: string): string {
  const script = join(root, "scripts/pack/make-package.mjs");
  return basename(execFileSync(process.execPath, [script, dir], { cwd: root, encoding: "utf8" }).trim());
}

export function npmInstall(app: string, args: string[]): void {
  const words = ["install", "--no-audit", "--no-fund", "--no-update-notifier", "--silent", ...args];
  execFileSync(npmCli, words, { cwd: app, env: { ...process.env, HOME: app }, stdio: "pipe" });
}

/** The Node that the host has outside of the checkout; on a machine with none but ours, that one. */
export function hostNode(): string {
  const dirs = (process.env["PATH"] ?? "").split(delimiter).filter((dir) => !dir.includes("node_modules"));
  return dirs.map((dir) => join(dir, "node")).find(existsSync) ?? process.execPath;
}

/** A PATH on which `node` is this one. */
export function pathWith(node: string, folder: string): string {
  const place = join(folder, "bin-of-node");
  mkdirSync(place, { recursive: true });
  if (!existsSync(join(place, "node"))) symlinkSync(node, join(place, "node"));
  return `${place}${delimiter}/usr/bin${delimiter}/bin`;
}

/** Gives the package the Node that it would fetch: the one of the checkout. */
export function addHubNode(installed: InstalledPackage): void {
  symlinkSync(process.execPath, join(makeNodeFolder(installed), "node"));
}

/** The same on a Debian without libatomic1: a stand-in that says what the system's loader says there. Returns its folder. */
export function addNodeWithoutLibrary(installed: InstalledPackage): string {
  const place = makeNodeFolder(installed);
  const complaint =
    "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file";
  writeFileSync(join(place, "node"), `#!/bin/sh\necho '${complaint}' >&2\nexit 127\n`, { mode: 0o755 });
  return place;
}

/** Where it keeps the Node that it has fetched: beside the package, which the next version replaces. */
export function nodesFolder({ app }: Pick<InstalledPackage, "app">): string {
  return join(app, "node_modules/.writ");
}

function makeNodeFolder({ app, folder }: InstalledPackage): string {
  const { version } = JSON.parse(readFileSync(join(folder, "bin/hub-node.json"), "utf8")) as {
    version: string;
  };
  const place = join(nodesFolder({ app }), `node-${process.platform}-${process.arch}-${version}/bin`);
  mkdirSync(place, { recursive: true });
  return place;
}

function findOnPath(name: string): string {
  const dirs = [...(process.env["PATH"] ?? "").split(delimiter), dirname(process.execPath)];
  return dirs.map((dir) => join(dir, name)).find(existsSync) ?? name;
}
