import { spawnSync } from "node:child_process";
import { mkdirSync, realpathSync, renameSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { pinnedNode, root } from "./paths.mjs";

const majorMin = 26;
const bundledNode = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");

/** Set-up step: makes `node_modules/.writ/node` a Node that runs on this machine. Why: ADR 0001. */
export const chooseNode = {
  name: "choosing the Node to run on",
  isSlow: false,
  isDone() {
    // Running it each time takes a few hundredths of a second and notices a checkout copied from another machine.
    return probe(pinnedNode).major >= majorMin;
  },
  run() {
    const bundled = probe(bundledNode);
    if (bundled.major >= majorMin) return link(bundledNode);

    const reason = whyNot(bundled);
    const host = hostNodes().find((candidate) => probe(candidate).major >= majorMin);
    if (host === undefined) throw new Error(reason);
    if (process.platform === "linux") process.stderr.write(`writ: ${reason}; using ${host} instead\n`);
    link(host);
  },
};

function probe(path) {
  const result = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 10_000 });
  const major = result.status === 0 ? Number(/^v(\d+)\./.exec(result.stdout)?.[1] ?? 0) : 0;
  return { major, complaint: (result.stderr ?? "").trim().split("\n")[0] || result.error?.message || "" };
}

function whyNot({ complaint }) {
  if (process.platform !== "linux")
    return `Writ needs Node ${majorMin} or newer on this platform; install it and run this again`;
  if (complaint.includes("libatomic.so.1")) {
    return "the bundled Node needs libatomic.so.1; install it (Debian: apt-get install libatomic1) and run this again";
  }
  return `the bundled Node does not run here (${complaint}); install Node ${majorMin} or newer and run this again`;
}

/** The Node that runs this script first, then those on the PATH, except any that npm installed. */
function hostNodes() {
  const onPath = (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir || ".", "node"));
  return [process.execPath, ...onPath].filter((path) => !path.startsWith(join(root, "node_modules")));
}

/** Links `.bin/node` too: the shebangs of npm's tools would otherwise find a bundled Node that does not run. */
function link(target) {
  for (const place of [pinnedNode, join(root, "node_modules", ".bin", "node")]) {
    mkdirSync(dirname(place), { recursive: true });
    const inside = target.startsWith(join(root, "node_modules"));
    // Relative, so that the checkout can be moved; by rename, so that the link is never missing.
    const fresh = `${place}.${process.pid}`;
    symlinkSync(inside ? relative(dirname(place), target) : realpathSync(target), fresh);
    renameSync(fresh, place);
  }
}
