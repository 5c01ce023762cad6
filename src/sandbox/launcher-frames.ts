import { frame, type LauncherPlan, type MountStep, protocol, tag } from "./launcher-protocol.ts";

export type Frame = { type: number; id: number; fields: Map<number, Buffer> };

/** A plan that the launcher would take for a broken frame, for which it ends every job: it must not be sent. */
export class PlanRefused extends Error {
  /** E2BIG or EINVAL, as execve would say. */
  readonly code: "E2BIG" | "EINVAL";

  constructor(code: "E2BIG" | "EINVAL", message: string) {
    super(message);
    this.name = "PlanRefused";
    this.code = code;
  }
}

type Field = [tag: number, value: Buffer];

/** Throws PlanRefused when the plan does not fit the protocol. */
export function encodeStart(id: number, plan: LauncherPlan): Buffer {
  refuseTooMany(plan);
  const fields: Field[] = [
    ...plan.argv.map((word): Field => [tag.ARG, text(word)]),
    ...plan.env.map((entry): Field => [tag.ENV, text(entry)]),
    [tag.CWD, text(plan.cwd)],
    [tag.PROTECTIONS, u32(plan.protections)],
    ...plan.mounts.map((step): Field => [tag.MOUNT, mount(step)]),
    [tag.STDOUT_FILE, text(plan.stdoutFile)],
    [tag.STDERR_FILE, text(plan.stderrFile)],
    [tag.STDOUT_MAX, u64(plan.stdoutBytesMax)],
    [tag.STDERR_MAX, u64(plan.stderrBytesMax)],
    ...plan.rlimits.map(
      (limit): Field => [tag.RLIMIT, Buffer.concat([u32(limit.resource), u64(limit.soft), u64(limit.hard)])],
    ),
  ];
  if (plan.ids !== undefined) fields.push([tag.UID, u32(plan.ids.uid)], [tag.GID, u32(plan.ids.gid)]);
  if (plan.cgroup !== undefined) fields.push([tag.CGROUP, text(plan.cgroup)]);
  if (plan.hostname !== undefined) fields.push([tag.HOSTNAME, text(plan.hostname)]);
  return encodeFrame(frame.START, id, fields);
}

export function encodeSignal(id: number, signo: number): Buffer {
  return encodeFrame(frame.SIGNAL, id, [[tag.SIGNO, u32(signo)]]);
}

export function encodeKill(id: number): Buffer {
  return encodeFrame(frame.KILL, id, []);
}

export function encodeOpen(id: number, open: { dir: string; path: string; how: number }): Buffer {
  return encodeFrame(frame.OPEN, id, [
    [tag.DIR, text(open.dir)],
    [tag.PATH, text(open.path)],
    [tag.HOW, u32(open.how)],
  ]);
}

export function encodeClose(id: number, fd: number): Buffer {
  return encodeFrame(frame.CLOSE, id, [[tag.FD, u32(fd)]]);
}

/** Cuts a stream of bytes into frames. Throws when they cannot be frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that are complete by now. */
  push(bytes: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const frames: Frame[] = [];
    while (this.#rest.length >= 4) {
      const length = this.#rest.readUInt32LE(0);
      if (length < protocol.FRAME_HEAD_BYTES || length > protocol.FRAME_BYTES_MAX) {
        throw new Error(`a frame of ${length} bytes cannot be`);
      }
      if (this.#rest.length < 4 + length) break;
      frames.push(decodeFrame(this.#rest.subarray(4, 4 + length)));
      this.#rest = this.#rest.subarray(4 + length);
    }
    return frames;
  }
}

export function fieldU32({ fields }: Frame, name: number): number | undefined {
  const value = fields.get(name);
  return value !== undefined && value.length >= 4 ? value.readUInt32LE(0) : undefined;
}

export function fieldU64({ fields }: Frame, name: number): number {
  const value = fields.get(name);
  return value !== undefined && value.length >= 8 ? Number(value.readBigUInt64LE(0)) : 0;
}

export function fieldText({ fields }: Frame, name: number): string {
  return fields.get(name)?.toString("utf8") ?? "";
}

function decodeFrame(bytes: Buffer): Frame {
  const fields = new Map<number, Buffer>();
  for (let at: number = protocol.FRAME_HEAD_BYTES; at < bytes.length; ) {
    if (bytes.length - at < protocol.FIELD_HEAD_BYTES) throw new Error("a field has no room for its head");
    const start = at + protocol.FIELD_HEAD_BYTES;
    const end = start + bytes.readUInt32LE(at + 1);
    if (end > bytes.length) throw new Error("a field is longer than its frame");
    fields.set(bytes[at]!, bytes.subarray(start, end));
    at = end;
  }
  return { type: bytes[0]!, id: bytes.readUInt32LE(1), fields };
}

function encodeFrame(type: number, id: number, fields: readonly Field[]): Buffer {
  const length = fields.reduce(
    (sum, [, value]) => sum + protocol.FIELD_HEAD_BYTES + value.length,
    protocol.FRAME_HEAD_BYTES as number,
  );
  if (length > protocol.FRAME_BYTES_MAX)
    throw new PlanRefused("E2BIG", "the command and its environment are too large");
  const bytes = Buffer.allocUnsafe(4 + length);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt8(type, 4);
  bytes.writeUInt32LE(id, 5);
  let at = 9;
  for (const [name, value] of fields) {
    bytes.writeUInt8(name, at);
    bytes.writeUInt32LE(value.length, at + 1);
    value.copy(bytes, at + protocol.FIELD_HEAD_BYTES);
    at += protocol.FIELD_HEAD_BYTES + value.length;
  }
  return bytes;
}

function refuseTooMany(plan: LauncherPlan): void {
  const isTooMuch =
    plan.argv.length > protocol.ARGS_MAX ||
    plan.env.length > protocol.ENV_MAX ||
    plan.mounts.length > protocol.MOUNTS_MAX ||
    plan.rlimits.length > protocol.RLIMITS_MAX;
  if (isTooMuch) throw new PlanRefused("E2BIG", "the command has too many arguments, variables or mounts");
}

function mount(step: MountStep): Buffer {
  const target = text(step.target);
  // The content of a file may hold anything; paths and links may not.
  const source = Buffer.from(step.source ?? "");
  const head = Buffer.alloc(14);
  head.writeUInt8(step.kind, 0);
  head.writeUInt8(step.flags ?? 0, 1);
  head.writeUInt32LE(step.mode ?? 0, 2);
  head.writeBigUInt64LE(BigInt(step.sizeBytes ?? 0), 6);
  return Buffer.concat([head, u32(target.length), target, u32(source.length), source]);
}

function text(value: string): Buffer {
  if (value.includes("\0"))
    throw new PlanRefused("EINVAL", "an argument, variable or path holds a zero byte");
  return Buffer.from(value);
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(BigInt(value), 0);
  return bytes;
}
