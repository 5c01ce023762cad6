import { expect, test } from "vitest";
import {
  answerFrame,
  frameKinds,
  numberFrame,
  plainFrame,
  readLimits,
  requestFrame,
  writeLimits,
} from "./frame.ts";
import { type Frame, FrameReader } from "./frame-reader.ts";
import { readAnswer, readHeaders, readNumber, readRequest } from "./read-payload.ts";
import { WireProblem } from "./wire-problem.ts";

const bytesMax = 64 * 1024;

test("refuses a frame that is longer than allowed before any of it is kept", () => {
  const { reader } = opened();
  const head = Buffer.alloc(9);
  head.writeUInt32BE(bytesMax - 3, 0);
  expect(() => reader.push(head)).toThrow(expect.objectContaining({ reason: "frame-too-long" }));
  expect(reader.unfinishedBytes).toBe(0);
});

test("refuses a frame that has no room for its kind and number, and one of an unknown kind", () => {
  for (const length of [0, 4]) {
    const frame = Buffer.alloc(9);
    frame.writeUInt32BE(length, 0);
    expect(() => opened().reader.push(frame)).toThrow(expect.objectContaining({ reason: "bad-frame" }));
  }
  for (const kind of [0, 9, 255]) {
    const frame = plainFrame(frameKinds.ping);
    frame[4] = kind;
    expect(() => opened().reader.push(frame)).toThrow(expect.objectContaining({ reason: "bad-frame" }));
  }
});

test("refuses payloads that end early, and heads that are no headers", () => {
  const frameOf = (payload: Buffer): Frame => ({
    kind: frameKinds.request,
    id: 1,
    payload,
    bytes: payload.length,
  });
  const bad = expect.objectContaining({ reason: "bad-frame" });
  expect(() => readRequest(frameOf(Buffer.from([0])))).toThrow(bad);
  expect(() => readRequest(frameOf(Buffer.from([0, 9, 1])))).toThrow(bad);
  expect(() => readAnswer(frameOf(Buffer.from([0, 200, 0])))).toThrow(bad);
  expect(() => readNumber(frameOf(Buffer.from([1])))).toThrow(bad);
  for (const line of ["", "a", ": b", "a b: c", "a: \u0000", "a: b\r"])
    expect(() => readHeaders([line]), JSON.stringify(line)).toThrow(bad);
});

test("reads limits, and none of another version", () => {
  const limits = { credit: 4_194_304, requests: 256 };
  expect(readLimits(writeLimits(limits))).toEqual(limits);
  for (const text of [
    undefined,
    "",
    "2; credit=1; requests=1",
    "1; credit=0; requests=1",
    "1; credit=-1; requests=1",
  ])
    expect(readLimits(text)).toBeNull();
});

test("reads the same frames from pieces of any size", () => {
  const sent = [
    requestFrame(1, "POST /api/v1/jobs", Buffer.from('{"type":"é"}')),
    answerFrame(1, { status: 201, head: "X-A: b", body: '{"id":"é"}' }),
    answerFrame(2, { status: 204, head: "", body: null }),
    plainFrame(frameKinds.cancel, 7),
    numberFrame(frameKinds.credit, 0, 4_000_000_000),
    requestFrame(3, "GET /", Buffer.alloc(20_000, "x")),
  ];
  const bytes = Buffer.concat(sent);
  for (const size of [1, 2, 3, 4, 5, 7, 9, 10, 1000, bytes.length]) {
    const { reader, frames } = opened();
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(frames.map(({ kind, id }) => [kind, id])).toEqual([
      [frameKinds.request, 1],
      [frameKinds.answer, 1],
      [frameKinds.answer, 2],
      [frameKinds.cancel, 7],
      [frameKinds.credit, 0],
      [frameKinds.request, 3],
    ]);
    expect(frames.map(({ bytes }) => bytes)).toEqual(sent.map(({ length }) => length));
    const request = readRequest(frames[0]!);
    expect([request.head, request.body.toString()]).toEqual(["POST /api/v1/jobs", '{"type":"é"}']);
    const answer = readAnswer(frames[1]!);
    expect([answer.status, answer.head, answer.body.toString()]).toEqual([201, "X-A: b", '{"id":"é"}']);
    expect(readNumber(frames[4]!)).toBe(4_000_000_000);
    expect(reader.unfinishedBytes).toBe(0);
  }
});

test("gives frames or a problem for any bytes, whatever was changed in them", () => {
  let seed = 1;
  // A generator of our own, so that a failure can be repeated.
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let round = 0; round < 5_000; round++) {
    const frames = Array.from({ length: 1 + random(4) }, (_, index) =>
      requestFrame(index + 1, "POST /x".slice(0, random(8)), Buffer.alloc(random(200), random(256))),
    );
    const bytes = Buffer.concat(frames);
    for (let change = random(4); change > 0; change--) bytes[random(bytes.length)] = random(256);
    const { reader, frames: read } = opened();
    let kept = 0;
    try {
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random(64);
        reader.push(bytes.subarray(at, at + size));
        kept = Math.max(kept, reader.unfinishedBytes);
        at += size;
      }
      for (const frame of read) readHeaders(readRequest(frame).head.split("\n").slice(1));
    } catch (error) {
      if (!(error instanceof WireProblem)) throw error;
    }
    expect(kept).toBeLessThanOrEqual(bytesMax);
    expect(read.reduce((sum, frame) => sum + frame.bytes, 0)).toBeLessThanOrEqual(bytes.length);
  }
});

function opened(): { reader: FrameReader; frames: Frame[] } {
  const frames: Frame[] = [];
  const reader = new FrameReader(bytesMax, (frame) =>
    frames.push({ ...frame, payload: Buffer.from(frame.payload) }),
  );
  return { reader, frames };
}
