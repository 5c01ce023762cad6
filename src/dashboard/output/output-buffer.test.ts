import { expect, test } from "vitest";
import { heldBytesMax, OutputBuffer, spansOf } from "./output-buffer.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (buffer: OutputBuffer) =>
  buffer.lines.map((line) =>
    spansOf(line)
      .map(({ text }) => text)
      .join(""),
  );

test("lines are joined from pieces that end anywhere", () => {
  const buffer = new OutputBuffer(0);
  for (const piece of ["one\ntw", "o\r\nthr", "ee", "\n"]) buffer.append(bytes(piece));
  expect(texts(buffer)).toEqual(["one", "two", "three"]);
  expect(buffer).toMatchObject({ start: 0, end: 15, firstNumber: 1 });
});

test("a line that is not finished is shown, and a progress bar becomes lines", () => {
  const buffer = new OutputBuffer(0);
  buffer.append(bytes("10 %\r20 %\r30"));
  expect(texts(buffer)).toEqual(["10 %", "20 %", "30"]);
  buffer.append(bytes(" %\n"));
  expect(texts(buffer)).toEqual(["10 %", "20 %", "30 %"]);
});

test("a buffer that grows to the start of the stream numbers its lines", () => {
  const stream = bytes("first\nsecond\nthird\n");
  const buffer = new OutputBuffer(13);
  buffer.append(stream.subarray(13));
  expect(buffer.firstNumber).toBeNull();
  expect(buffer.prepend(stream.subarray(3, 13))).toBe(1);
  expect(texts(buffer)).toEqual(["second", "third"]);
  buffer.prepend(stream.subarray(0, buffer.start));
  expect(texts(buffer)).toEqual(["first", "second", "third"]);
  expect(buffer.firstNumber).toBe(1);
});

test("a buffer never exceeds its bound and keeps the numbers of the remaining lines", () => {
  const buffer = new OutputBuffer(0);
  const piece = bytes("0123456789abcde\n".repeat(65_536));
  for (let count = 0; count < 6; count++) buffer.append(piece);
  expect(buffer.end - buffer.start).toBeLessThanOrEqual(heldBytesMax);
  expect(buffer.firstNumber).toBe(buffer.start / 16 + 1);
});

test("colours are read line by line", () => {
  const buffer = new OutputBuffer(0);
  buffer.append(bytes("a \x1b[31mred\x1b[0m\n\x1b[32mgreen\x1b[0m\n"));
  const colours = buffer.lines.map((line) => spansOf(line).map(({ text, colour }) => [text, colour]));
  expect(colours).toEqual([
    [
      ["a ", null],
      ["red", "red"],
    ],
    [["green", "green"]],
  ]);
});

test("a line without an end is cut between characters", () => {
  const buffer = new OutputBuffer(0);
  buffer.append(bytes("ä".repeat(5000)));
  expect(texts(buffer).join("")).toBe("ä".repeat(5000));
  expect(buffer.lines.length).toBe(3);
});
