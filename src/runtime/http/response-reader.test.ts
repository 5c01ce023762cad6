import { describe, expect, it, test } from "vitest";
import { type ResponseHead, ResponseProblem, ResponseReader } from "./response-reader.ts";

const text = (...lines: string[]): Buffer => Buffer.from(lines.join("\r\n"), "latin1");

type Read = { reader: ResponseReader; head: ResponseHead; body: string; agreed: number };

function read(bytes: Buffer, pieceBytes = bytes.length, isBodyless = false): Read {
  const heads: ResponseHead[] = [];
  const pieces: Buffer[] = [];
  let agreed = 0;
  const parts = {
    onContinue: () => void agreed++,
    onHead: (head: ResponseHead) => void heads.push(head),
    onBody: (piece: Buffer) => void pieces.push(piece),
  };
  const reader = new ResponseReader(parts, { bodyBytesMax: 1000, isBodyless });
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.subarray(at, at + pieceBytes));
  return { reader, head: heads[0]!, body: Buffer.concat(pieces).toString(), agreed };
}

describe("refuses", () => {
  test.each([
    ["another protocol", "SSH-2.0-OpenSSH", ""],
    ["HTTP/2", "HTTP/2 200", "", ""],
    ["a status of two digits", "HTTP/1.1 20 OK", "", ""],
    ["a change of the protocol", "HTTP/1.1 101 Switching", "", ""],
    ["a header without a name", "HTTP/1.1 200 OK", ": x", "", ""],
    ["a space before the colon", "HTTP/1.1 200 OK", "Content-Length : 1", "", "a"],
    ["a header on two lines", "HTTP/1.1 200 OK", "a: b", " c: d", "", ""],
    ["two lengths", "HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2", "", "ab"],
    ["a length that is no number", "HTTP/1.1 200 OK", "Content-Length: +1", "", "a"],
    ["a length beside chunks", "HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: chunked", "", ""],
    ["an encoding that it cannot read", "HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked", "", ""],
    ["a chunk without a size", "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "x", "a", ""],
    ["a chunk that is longer", "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "1", "ab", ""],
  ])("%s", (_what, ...lines) => {
    expect(() => read(text(...lines))).toThrow(ResponseProblem);
  });

  it("a head without an end, and a body that is larger than allowed", () => {
    expect(() => read(text("HTTP/1.1 200 OK", `a: ${"b".repeat(20_000)}`))).toThrow("too long");
    const announced = text("HTTP/1.1 200 OK", "Content-Length: 1001", "", "");
    const chunked = text("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "3e9", "a".repeat(1001), "");
    const endless = text("HTTP/1.1 200 OK", "", "a".repeat(1001));
    for (const bytes of [announced, chunked, endless]) {
      expect(() => read(bytes)).toThrow(expect.objectContaining({ isTooLarge: true }));
    }
  });
});

describe("reads, however the bytes are cut,", () => {
  const whole = {
    "a body with a length": text(
      "HTTP/1.1 200 OK",
      "Content-Length: 6",
      "X-A: 1",
      "x-a:  2 ",
      "",
      "a\r\n\r\nb",
    ),
    "a body in chunks": text(
      "HTTP/1.1 200 OK",
      "Transfer-Encoding: Chunked",
      "X-A: 1, 2",
      "",
      "2;name=value",
      "a\r",
      "003",
      "\n\r\n",
      "0",
      "Trailer: x",
      "",
      "",
    ),
  };
  test.each(Object.entries(whole))("%s", (name, bytes) => {
    for (let pieceBytes = 1; pieceBytes <= bytes.length; pieceBytes++) {
      const { reader, head, body } = read(bytes, pieceBytes);
      expect([head.status, head.headers["x-a"], reader.keepsConnection]).toEqual([200, "1, 2", true]);
      expect(body).toBe(name.endsWith("length") ? "a\r\n\r\nb" : "a\r\n\r\n");
    }
  });

  it("responses without a body, and the one that follows 100 or 103", () => {
    const early = ["HTTP/1.1 103 Early", "Link: x", "", "HTTP/1.1 100 Continue", "", ""];
    const bytes = text(...early.slice(0, -1), "HTTP/1.1 204 No Content", "A: b", "", "");
    for (let pieceBytes = 1; pieceBytes <= bytes.length; pieceBytes++) {
      const { head, body, agreed } = read(bytes, pieceBytes);
      expect([head.status, { ...head.headers }, body, agreed]).toEqual([204, { a: "b" }, "", 1]);
    }
    expect(read(text("HTTP/1.1 200", "content-length: 0", "", "")).head.status).toBe(200);
  });

  it("the response to HEAD, which has a length and no body", () => {
    const bytes = text("HTTP/1.1 200 OK", "Content-Length: 9000", "", "");
    const { head, reader } = read(bytes, bytes.length, true);
    expect([head.headers["content-length"], reader.keepsConnection]).toEqual(["9000", true]);
  });

  it("a body that ends with the connection, but no other body does", () => {
    const { reader, body } = read(text("HTTP/1.1 200 OK", "", "abc"));
    expect([reader.end(), body, reader.keepsConnection]).toEqual([true, "abc", false]);
    const ends = (...lines: string[]) => read(text(...lines)).reader.end();
    expect(ends("HTTP/1.1 200 OK", "Content-Length: 4", "", "abc")).toBe(false);
    expect(ends("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "3", "abc", "")).toBe(false);
    expect(ends("HTTP/1.1 200 OK", "A: b")).toBe(false);
  });
});

it("says when the connection cannot be used again", () => {
  const keeps = (...lines: string[]) => read(text(...lines)).reader.keepsConnection;
  expect(keeps("HTTP/1.1 204 x", "", "")).toBe(true);
  expect(keeps("HTTP/1.1 204 x", "Connection: Close", "", "")).toBe(false);
  expect(keeps("HTTP/1.0 204 x", "", "")).toBe(false);
  expect(keeps("HTTP/1.0 204 x", "Connection: keep-alive", "", "")).toBe(true);
  expect(keeps("HTTP/1.1 204 x", "", "more")).toBe(false);
});
