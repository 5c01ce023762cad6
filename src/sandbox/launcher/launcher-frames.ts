import { FrameWriter, PlanRefused } from "./frame-writer.ts";
import {
  frame,
  homeEntry,
  type LauncherPlan,
  type MountStep,
  type PlannedHome,
  protocol,
  tag,
} from "./launcher-protocol.ts";

export type Frame = { type: number; id: number; fields: Map<number, Buffer> };

/** Throws PlanRefused if the plan does not fit the protocol. */
export function encodeStart(id: number, plan: LauncherPlan): Buffer {
  refuseTooMany(plan);
  const writer = new FrameWriter(frame.START, id);
  for (const word of plan.argv) writer.textField(tag.ARG, word);
  for (const entry of plan.env) writer.textField(tag.ENV, entry);
  writer.textField(tag.CWD, plan.cwd).u32Field(tag.PROTECTIONS, plan.protections);
  for (const step of plan.mounts) writeMount(writer, step);
  writer.textField(tag.STDOUT_FILE, plan.stdoutFile).textField(tag.STDERR_FILE, plan.stderrFile);
  writer.u64Field(tag.STDOUT_MAX, plan.stdoutBytesMax).u64Field(tag.STDERR_MAX, plan.stderrBytesMax);
  for (const mask of plan.masks) writer.textField(tag.MASK, mask);
  if (plan.stdin !== undefined) writer.startField(tag.STDIN).bytes(plan.stdin).endField();
  if (plan.stdinFile !== undefined) writer.textField(tag.STDIN_FILE, plan.stdinFile);
  if (plan.holdMs !== undefined) writer.u32Field(tag.HOLD_MS, plan.holdMs);
  if (plan.holdWrittenMs !== undefined) writer.u32Field(tag.HOLD_WRITTEN_MS, plan.holdWrittenMs);
  if (plan.listenPort !== undefined) writer.u32Field(tag.LISTEN_PORT, plan.listenPort);
  if (plan.home !== undefined) writeHome(writer, plan.home);
  for (const { resource, soft, hard } of plan.rlimits)
    writer.startField(tag.RLIMIT).u32(resource).u64(soft).u64(hard).endField();
  if (plan.ids !== undefined) writer.u32Field(tag.UID, plan.ids.uid).u32Field(tag.GID, plan.ids.gid);
  if (plan.giveDir !== undefined) writer.textField(tag.GIVE_DIR, plan.giveDir);
  if (plan.cgroup !== undefined)
    writer.textField(tag.CGROUP, plan.cgroup.path).textField(tag.CGROUP_IO_LIFT, plan.cgroup.ioLift);
  if (plan.hostname !== undefined) writer.textField(tag.HOSTNAME, plan.hostname);
  return writer.finish();
}

export function encodeSignal(id: number, signo: number): Buffer {
  return new FrameWriter(frame.SIGNAL, id).u32Field(tag.SIGNO, signo).finish();
}

export function encodeKill(id: number): Buffer {
  return new FrameWriter(frame.KILL, id).finish();
}

export function encodeOpen(id: number, open: { dir: string; path: string; how: number }): Buffer {
  return new FrameWriter(frame.OPEN, id)
    .textField(tag.DIR, open.dir)
    .textField(tag.PATH, open.path)
    .u32Field(tag.HOW, open.how)
    .finish();
}

export function encodeClose(id: number, fd: number): Buffer {
  return new FrameWriter(frame.CLOSE, id).u32Field(tag.FD, fd).finish();
}

export function encodePing(): Buffer {
  return new FrameWriter(frame.PING, 0).finish();
}

/** Splits a stream of bytes into frames. Throws if they cannot be frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that are complete so far. */
  push(bytes: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const frames: Frame[] = [];
    while (this.#rest.length >= 4) {
      const length = this.#rest.readUInt32LE(0);
      if (length < protocol.FRAME_HEAD_BYTES || length > protocol.FRAME_BYTES_MAX) {
        throw new Error(`a frame of ${length} bytes is not possible`);
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

function refuseTooMany(plan: LauncherPlan): void {
  const isTooMuch =
    plan.argv.length > protocol.ARGS_MAX ||
    plan.env.length > protocol.ENV_MAX ||
    plan.mounts.length > protocol.MOUNTS_MAX ||
    plan.rlimits.length > protocol.RLIMITS_MAX ||
    plan.masks.length > protocol.MASKS_MAX ||
    (plan.stdin?.length ?? 0) > protocol.STDIN_BYTES_MAX;
  if (isTooMuch) {
    throw new PlanRefused(
      "E2BIG",
      "the command has too many arguments, variables, mounts or secrets, or too much standard input",
    );
  }
}

function writeHome(writer: FrameWriter, { path, entries }: PlannedHome): void {
  writer.textField(tag.HOME, path);
  for (const { path, content } of entries) {
    writer.startField(tag.HOME_ENTRY).u8(content === undefined ? homeEntry.DIRECTORY : homeEntry.FILE);
    writer.u32(Buffer.byteLength(path)).text(path);
    writer.content(content ?? "").endField();
  }
}

function writeMount(
  writer: FrameWriter,
  { kind, flags, mode, sizeBytes, uid, gid, target, source = "" }: MountStep,
): void {
  writer
    .startField(tag.MOUNT)
    .u8(kind)
    .u8(flags ?? 0)
    .u32(mode ?? 0)
    .u64(sizeBytes ?? 0)
    .u32(uid ?? 0)
    .u32(gid ?? 0);
  writer.u32(Buffer.byteLength(target)).text(target);
  // The content of a file may contain anything; paths and links may not, and the launcher checks those itself.
  writer.u32(Buffer.byteLength(source)).content(source).endField();
}
