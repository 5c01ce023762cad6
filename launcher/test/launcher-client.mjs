import { spawn } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";

/** The numbers of protocol.h. */
export const frame = { start: 1, signal: 2, kill: 3, open: 4, close: 5, ready: 64, started: 65, failed: 66 };
Object.assign(frame, { exited: 67, opened: 68, openFailed: 69, protocolError: 70, ping: 6, pong: 71 });
frame.stalled = 72;
export const protect = {
  pid: 1,
  mount: 2,
  ipc: 4,
  uts: 8,
  net: 16,
  cgroup: 32,
  ids: 64,
  caps: 128,
  nnp: 256,
  seccomp: 512,
};
export const protectAll = 1023;
export const mountKind = {
  bindRo: 1,
  bindRw: 2,
  tmpfs: 3,
  proc: 4,
  dev: 5,
  symlink: 6,
  file: 7,
  dir: 8,
  job: 9,
};
export const mountFlag = { skipMissing: 1, perJob: 2, writable: 4, noexec: 8, oneFile: 16, idmap: 32 };
export const openHow = { read: 1, create: 2, directory: 4, sameMount: 8 };

const textTags = {
  66: "step",
  68: "message",
  80: "cpuStat",
  81: "memoryPeak",
  82: "memoryEvents",
  85: "pidsPeak",
  86: "ioStat",
};
const numberTags = { 36: "fd", 64: "version", 65: "pid", 67: "errno", 69: "exitCode", 70: "exitSignal" };
Object.assign(numberTags, { 83: "cgroupRemoved", 90: "homeRemoved" });
Object.assign(textTags, { 88: "stdout", 89: "stderr" });
const longTags = { 71: "cpuUserUs", 72: "cpuSystemUs", 73: "rssBytesMax", 74: "startUs", 75: "endUs" };
Object.assign(longTags, { 76: "stdoutBytes", 77: "stderrBytes" });
const endTags = { 78: "stdoutEnd", 79: "stderrEnd" };

/** A launcher and the conversation with it. Made for hand tests: every answer is kept until it is asked for. */
export class LauncherClient {
  #buffer = Buffer.alloc(0);
  #waiting = new Map();
  #seen = new Map();

  constructor(file, options = {}) {
    const [command, ...args] = [...(options.wrap ?? []), file];
    this.child = spawn(command, args, { stdio: ["ignore", "inherit", options.stderr ?? "inherit", "pipe"] });
    this.socket = this.child.stdio[3];
    this.socket.on("data", (chunk) => this.#take(chunk));
    this.socket.on("error", () => {});
    this.exited = new Promise((resolve) =>
      this.child.on("exit", (code, signal) => resolve({ code, signal })),
    );
  }

  send(type, id, fields = []) {
    this.socket.write(encodeFrame(type, id, fields));
  }

  /** The next answer to `id` of one of the types, by the name of the frame. */
  wait(id, ...types) {
    const early = this.#seen.get(id)?.findIndex((answer) => types.includes(answer.type)) ?? -1;
    if (early >= 0) return Promise.resolve(this.#seen.get(id).splice(early, 1)[0]);
    return new Promise((resolve) =>
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), { types, resolve }]),
    );
  }

  async run(id, plan) {
    this.send(frame.start, id, planFields(plan));
    const end = await this.wait(id, frame.exited, frame.failed);
    this.#seen.delete(id);
    return end;
  }

  #take(chunk) {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    let position = 0;
    while (this.#buffer.length - position >= 4) {
      const length = this.#buffer.readUInt32LE(position);
      if (this.#buffer.length - position < 4 + length) break;
      this.#deliver(decodeFrame(this.#buffer.subarray(position + 4, position + 4 + length)));
      position += 4 + length;
    }
    this.#buffer = this.#buffer.subarray(position);
  }

  #deliver(answer) {
    const waiting = this.#waiting.get(answer.id) ?? [];
    const index = waiting.findIndex(({ types }) => types.includes(answer.type));
    if (index < 0) {
      this.#seen.set(answer.id, [...(this.#seen.get(answer.id) ?? []), answer]);
      return;
    }
    const [waiter] = waiting.splice(index, 1);
    if (waiting.length === 0) this.#waiting.delete(answer.id);
    waiter.resolve(answer);
  }
}

export function encodeFrame(type, id, fields) {
  const parts = fields.map(([tag, value]) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(tag, 0);
    head.writeUInt32LE(value.length, 1);
    return Buffer.concat([head, value]);
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(9);
  head.writeUInt32LE(5 + body.length, 0);
  head.writeUInt8(type, 4);
  head.writeUInt32LE(id, 5);
  return Buffer.concat([head, body]);
}

function decodeFrame(bytes) {
  const answer = { type: bytes.readUInt8(0), id: bytes.readUInt32LE(1) };
  for (let position = 5; position < bytes.length; ) {
    const tag = bytes.readUInt8(position);
    const length = bytes.readUInt32LE(position + 1);
    const value = bytes.subarray(position + 5, position + 5 + length);
    if (textTags[tag]) answer[textTags[tag]] = value.toString();
    if (numberTags[tag]) answer[numberTags[tag]] = value.readUInt32LE(0);
    if (longTags[tag]) answer[longTags[tag]] = Number(value.readBigUInt64LE(0));
    if (endTags[tag]) answer[endTags[tag]] = { end: value.readUInt32LE(0), errno: value.readUInt32LE(4) };
    position += 5 + length;
  }
  return answer;
}

export const text = (value) => Buffer.from(value);
export function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}
export function u64(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value), 0);
  return bytes;
}

export function planFields(plan) {
  const fields = plan.argv.map((arg) => [1, text(arg)]);
  for (const [name, value] of Object.entries(plan.env ?? { PATH: "/usr/bin:/bin" }))
    fields.push([2, text(`${name}=${value}`)]);
  fields.push([3, text(plan.cwd ?? "/tmp")], [4, u32(plan.protections)]);
  if (plan.protections & protect.ids) fields.push([5, u32(plan.uid ?? 65534)], [6, u32(plan.gid ?? 65534)]);
  if (plan.cgroup) fields.push([7, text(plan.cgroup)]);
  if (plan.cgroupIoLift !== undefined) fields.push([15, text(plan.cgroupIoLift)]);
  if (plan.giveDir) fields.push([16, text(plan.giveDir)]);
  for (const mount of plan.mounts ?? []) fields.push([8, encodeMount(mount)]);
  if (plan.hostname) fields.push([9, text(plan.hostname)]);
  fields.push([10, text(plan.stdout)], [11, text(plan.stderr)]);
  fields.push([12, u64(plan.stdoutMax ?? 1 << 30)], [13, u64(plan.stderrMax ?? 1 << 30)]);
  for (const mask of plan.masks ?? []) fields.push([17, text(mask)]);
  if (plan.stdin !== undefined) fields.push([18, Buffer.from(plan.stdin)]);
  if (plan.holdMs !== undefined) fields.push([20, u32(plan.holdMs)]);
  if (plan.holdWrittenMs !== undefined) fields.push([23, u32(plan.holdWrittenMs)]);
  if (plan.home !== undefined) fields.push([21, text(plan.home)]);
  for (const { path, content } of plan.homeEntries ?? [])
    fields.push([
      22,
      Buffer.concat([
        Buffer.from([content === undefined ? 1 : 2]),
        u32(Buffer.byteLength(path)),
        text(path),
        text(content ?? ""),
      ]),
    ]);
  for (const [resource, soft, hard] of plan.rlimits ?? [])
    fields.push([14, Buffer.concat([u32(resource), u64(soft), u64(hard)])]);
  return fields;
}

function encodeMount({ kind, flags = 0, mode = 0, size = 0, uid = 0, gid = 0, target, source = "" }) {
  const [targetBytes, sourceBytes] = [Buffer.from(target), Buffer.from(source)];
  const head = Buffer.from([kind, flags]);
  return Buffer.concat([
    head,
    u32(mode),
    u64(size),
    u32(uid),
    u32(gid),
    u32(targetBytes.length),
    targetBytes,
    u32(sourceBytes.length),
    sourceBytes,
  ]);
}

/** The jail of the contract, as the worker plans it. */
export function jailMounts(workDir) {
  const mounts = ["/usr", "/opt"].map((path) => ({
    kind: mountKind.bindRo,
    flags: 1,
    target: path,
    source: path,
  }));
  for (const path of ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]) {
    if (!existsSync(path)) continue;
    if (lstatSync(path).isSymbolicLink())
      mounts.push({ kind: mountKind.symlink, target: path, source: readlinkSync(path) });
    else mounts.push({ kind: mountKind.bindRo, target: path, source: path });
  }
  const passwd = "root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/work:/bin/false\n";
  mounts.push({ kind: mountKind.file, mode: 0o444, target: "/etc/passwd", source: passwd });
  mounts.push({
    kind: mountKind.file,
    mode: 0o444,
    target: "/etc/group",
    source: "root:x:0:\nnogroup:x:65534:\n",
  });
  for (const name of [
    "hosts",
    "resolv.conf",
    "nsswitch.conf",
    "ssl",
    "ca-certificates",
    "alternatives",
    "localtime",
    "ld.so.cache",
  ]) {
    mounts.push({ kind: mountKind.bindRo, flags: 1, target: `/etc/${name}`, source: `/etc/${name}` });
  }
  mounts.push({ kind: mountKind.dev, target: "/dev" });
  mounts.push({ kind: mountKind.tmpfs, mode: 0o1777, size: 16 << 20, target: "/dev/shm" });
  mounts.push({ kind: mountKind.tmpfs, mode: 0o1777, size: 256 << 20, target: "/tmp" });
  mounts.push({ kind: mountKind.proc, target: "/proc" });
  if (workDir) mounts.push({ kind: mountKind.bindRw, target: "/work", source: workDir });
  return mounts;
}
