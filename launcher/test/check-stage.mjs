import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { frame, jailMounts, LauncherClient, planFields, protect, protectAll } from "./launcher-client.mjs";

/** What the checks of the launcher stand on: a folder, a cgroup, plans, and a fresh launcher for each check. */
export const [launcherFile, only = ""] = process.argv.slice(2);
export const scratch = mkdtempSync(join(tmpdir(), "writ-check-"));
export const workDir = join(scratch, "work");
mkdirSync(workDir);
chownSync(workDir, 65534, 65534);
export const mounts = jailMounts(workDir);
export const cgroup = makeCgroup();
/** What holds comes at once; this is for a busy machine, and for the sanitizers, which slow everything down. */
const patienceMs = 60_000;
const deadlineMs = 5 * 60_000;
let next = 1;
/** A number that no other plan or question has. */
export const nextId = () => next++;
let failures = 0;

export function plan(argv, more = {}) {
  const id = nextId();
  const files = { stdout: join(scratch, `${id}.out`), stderr: join(scratch, `${id}.err`) };
  const protections = protectAll & ~protect.net;
  return { id, argv, cwd: "/work", hostname: "job", protections, mounts, cgroup, ...files, ...more };
}
export const shell = (script, more) => plan(["/bin/sh", "-c", script], more);

export async function check(name, body) {
  if (!name.includes(only)) return;
  const client = new LauncherClient(launcherFile, { stderr: "pipe" });
  const words = [];
  client.child.stderr.on("data", (chunk) => words.push(chunk));
  try {
    await withDeadline(body(client));
    assert.doesNotMatch(Buffer.concat(words).toString(), /Sanitizer|runtime error/);
    console.log(`ok    ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
  client.socket.destroy();
  await client.exited;
  await until(() => processes().length === 0);
}

/** A launcher whose calls are slow or fail, as strace is told. */
export const faultyLauncher = (...faults) =>
  new LauncherClient(launcherFile, { wrap: ["strace", "-f", "-qq", "-o", "/dev/null", ...faults] });

/** Those in our cgroup, wherever they have moved in the tree of processes. */
export const processes = () => readFileSync(join(cgroup, "cgroup.procs"), "utf8").split("\n").filter(Boolean);

export async function until(holds) {
  for (const end = Date.now() + patienceMs; Date.now() < end; ) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`never came: ${holds}`);
}

function withDeadline(promise) {
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`took more than ${deadlineMs} ms`)), deadlineMs).unref(),
  );
  return Promise.race([promise, late]);
}

export const run = (client, one) => client.run(one.id, one);
export const started = (client, one) => {
  client.send(frame.start, one.id, planFields(one));
  return client.wait(one.id, frame.started, frame.failed);
};
export const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");

function makeCgroup() {
  for (const root of ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]) {
    if (!existsSync(join(root, "cgroup.procs"))) continue;
    const directory = join(root, `writ-check-${process.pid}`);
    mkdirSync(directory);
    return directory;
  }
  throw new Error("not capable: no cgroup v2");
}

/** The end of all checks. */
export function finish() {
  rmdirSync(cgroup);
  rmSync(scratch, { recursive: true, force: true });
  console.log(failures === 0 ? "all hold" : `${failures} failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}
