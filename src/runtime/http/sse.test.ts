import { expect, test } from "vitest";
import { formatSse, parseSse, type SseEvent } from "./sse.ts";

test("refuses a line and an event that have no end", async () => {
  const refused = { code: "HTTP_ERROR" };
  await expect(parse(Array(20).fill("x".repeat(100_000)))).rejects.toMatchObject(refused);
  await expect(parse(Array(90).fill(`data:${"x".repeat(100_000)}\n`))).rejects.toMatchObject(refused);
});

test("refuses to write an id or event that would break out of its line", () => {
  expect(() => formatSse({ event: "a\ndata: forged", data: "" })).toThrow(TypeError);
  expect(() => formatSse({ id: "1\r2", event: "a", data: "" })).toThrow(TypeError);
});

test("drops an unfinished event, events without data, comments and unknown fields", async () => {
  expect(await parse([": hi\nevent: a\n\nretry: 5\nfoo: bar\ndata: x\n\ndata: lost"])).toEqual([
    { event: "message", data: "x" },
  ]);
});

test("keeps the last id, forgets the last event name and ignores an id with NUL", async () => {
  expect(
    await parse(["id: 7\nevent: job\ndata: a\n\ndata: b\n\nid: 9\0\ndata: c\n\nid\ndata: d\n\n"]),
  ).toEqual([
    { id: "7", event: "job", data: "a" },
    { id: "7", event: "message", data: "b" },
    { id: "7", event: "message", data: "c" },
    { id: "", event: "message", data: "d" },
  ]);
});

test("takes one space after the colon, joins data lines, and takes away a byte order mark", async () => {
  expect(await parse(["\uFEFFdata:  two\ndata\ndata:x\n\n"])).toEqual([
    { event: "message", data: " two\n\nx" },
  ]);
});

test("gives the same events wherever the bytes are cut and however lines end", async () => {
  const events: SseEvent[] = [
    { id: "1", event: "job:created", data: '{"name":"Ünïcödé 🚀"}' },
    { id: "2", event: "work", data: "two\nlines\n" },
  ];
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = Buffer.from(events.map(formatSse).join("").replaceAll("\n", end));
    for (let size = 1; size < bytes.length; size++) expect(await parse(cut(bytes, size))).toEqual(events);
  }
});

test("gives an event as soon as its empty line is there, even when \\n may follow \\r", async () => {
  const never = Promise.withResolvers<never>();
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("data: x\r\r");
    await never.promise;
  }
  expect((await parseSse(body()).next()).value).toEqual({ event: "message", data: "x" });
});

async function parse(chunks: Iterable<string | Uint8Array>): Promise<SseEvent[]> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk as string);
  }
  return Array.fromAsync(parseSse(body()));
}

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
