import { expect, test } from "vitest";
import { PlanRefused } from "./frame-writer.ts";
import {
  encodeKill,
  encodeSignal,
  encodeStart,
  FrameReader,
  fieldText,
  fieldU32,
  fieldU64,
} from "./launcher-frames.ts";
import { frame, type LauncherPlan, mountKind, protocol, tag } from "./launcher-protocol.ts";

const plan: LauncherPlan = {
  argv: ["printf", "ü"],
  env: ["A=1"],
  cwd: "/work",
  protections: 3,
  ids: { uid: 65_534, gid: 65_533 },
  giveDir: "/jobs/1/work",
  cgroup: { path: "/cg/1", ioLift: "" },
  mounts: [
    { kind: mountKind.TMPFS, target: "/tmp", mode: 0o1777, sizeBytes: 2 ** 33, uid: 1000, gid: 2 ** 32 - 2 },
  ],
  stdoutFile: "/a",
  stderrFile: "/b",
  stdoutBytesMax: 2 ** 40,
  stderrBytesMax: 0,
  masks: [],
  rlimits: [{ resource: 7, soft: 1, hard: 2 }],
};

test("a plan that would break the protocol is refused before it is sent", () => {
  expect(() => encodeStart(1, { ...plan, argv: ["a\0b"] })).toThrow(PlanRefused);
  expect(() => encodeStart(1, { ...plan, env: ["A=\0"] })).toThrow("zero byte");
  expect(() => encodeStart(1, { ...plan, argv: Array(protocol.ARGS_MAX + 1).fill("") })).toThrow("too many");
  const many = Array(protocol.MOUNTS_MAX + 1).fill(plan.mounts[0]);
  expect(() => encodeStart(1, { ...plan, mounts: many })).toThrow("too many");
  const large = "x".repeat(protocol.FRAME_BYTES_MAX);
  expect(() => encodeStart(1, { ...plan, argv: [large] })).toThrow("too large");
});

test("bytes that are not frames are refused", () => {
  expect(() => new FrameReader().push(Buffer.from([4, 0, 0, 0, 1]))).toThrow("is not possible");
  expect(() => new FrameReader().push(Buffer.from([255, 255, 255, 255]))).toThrow("is not possible");
  const liar = encodeSignal(1, 15);
  liar.writeUInt32LE(100, 10);
  expect(() => new FrameReader().push(liar)).toThrow("longer than its frame");
});

test("a plan is read from its frame unchanged", () => {
  const [got] = new FrameReader().push(encodeStart(7, plan));
  expect(got).toMatchObject({ type: frame.START, id: 7 });
  // Repeated fields keep the last one, which is enough for answers, where none repeats.
  expect(fieldText(got!, tag.ARG)).toBe("ü");
  expect(fieldU32(got!, tag.GID)).toBe(65_533);
  expect(fieldU64(got!, tag.STDOUT_MAX)).toBe(2 ** 40);
  expect(fieldText(got!, tag.GIVE_DIR)).toBe("/jobs/1/work");
  // An empty one is sent all the same: it says that the cgroup is the job's own.
  expect(got!.fields.get(tag.CGROUP_IO_LIFT)).toHaveLength(0);
  expect(got!.fields.get(tag.MOUNT)!.readBigUInt64LE(6)).toBe(2n ** 33n);
  expect(got!.fields.get(tag.MOUNT)!.readUInt32LE(14)).toBe(1000);
  expect(got!.fields.get(tag.MOUNT)!.readUInt32LE(18)).toBe(2 ** 32 - 2);
});

test("a plan that outgrows the first buffer arrives whole", () => {
  const argv = Array.from({ length: 5_000 }, (_, index) => `${index}-ü`);
  const [got] = new FrameReader().push(encodeStart(7, { ...plan, argv }));
  expect(fieldText(got!, tag.ARG)).toBe("4999-ü");
  expect(fieldText(got!, tag.STDERR_FILE)).toBe("/b");
});

test("frames are found at any cut of the bytes", () => {
  const bytes = Buffer.concat([encodeSignal(1, 15), encodeKill(2), encodeSignal(3, 9)]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const reader = new FrameReader();
    const ids = [...reader.push(bytes.subarray(0, cut)), ...reader.push(bytes.subarray(cut))].map(
      ({ id }) => id,
    );
    expect(ids).toEqual([1, 2, 3]);
  }
});
