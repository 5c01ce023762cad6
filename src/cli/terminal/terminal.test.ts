import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { neutralise } from "../../core/text/neutralise.ts";
import { formatTable } from "./table.ts";
import { neutraliseLine, OutputNeutraliser, paintFor, safeJson, showName } from "./terminal.ts";

const harmful =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/u;

/** Text in which the dangerous characters are as frequent as the others. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x1b[2J",
        "\x9b",
        "\u202e",
        "\u2066",
        "\r",
        "\r\n",
        "\n",
        "\t",
        "\ud800",
      ),
      fc.integer({ min: 0, max: 0xa0 }).map((code) => String.fromCharCode(code)),
    ),
  )
  .map((parts) => parts.join(""));

describe("text from outside", () => {
  test("never steers the terminal", () => {
    fc.assert(fc.property(hostile, (text) => !harmful.test(neutralise(text))));
  });

  test.each([neutraliseLine, showName])("stays on one line where one line is meant: %o", (shown) => {
    fc.assert(fc.property(hostile, (text) => !harmful.test(shown(text)) && !/[\n\t]/.test(shown(text))));
  });

  test("is harmless as JSON too, and means the same", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const json = safeJson({ text });
        expect(json).not.toMatch(harmful);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
  });

  test("is harmless as a job's output, however it is cut into chunks", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 1, max: 5 }), (text, size) => {
        const bytes = Buffer.from(text);
        const output = new OutputNeutraliser();
        let shown = "";
        for (let at = 0; at < bytes.length; at += size) shown += output.push(bytes.subarray(at, at + size));
        shown += output.end();
        expect(shown).not.toMatch(harmful);
        // Cutting changes nothing, except the mark at the very beginning that a decoder removes.
        expect(shown).toBe(neutralise(new TextDecoder().decode(bytes)));
      }),
    );
  });

  test("cannot break out of a table", () => {
    const table = formatTable([{ title: "NAME", cell: (name: string) => name }], ["a\nb\x1b[2J", "c"]);
    expect(table).toBe("NAME\na\\nb\\x1b[2J\nc\n");
  });
});

test("ordinary text, line breaks and letters of all scripts stay as they are", () => {
  const text = "Grüße, 世界 👩‍👩‍👧\n\tschön";
  expect(neutralise(text)).toBe(text);
});

test("a line end with a colour inside is not a line end, whole or in chunks", () => {
  const output = new OutputNeutraliser();
  const shown = ["\r", "\x1b[31m", "\n"].map((part) => output.push(Buffer.from(part))).join("");
  expect(shown + output.end()).toBe("\\x0d\n");
  expect(neutralise("\r\x1b[31m\n")).toBe("\\x0d\n");
});

test("colours are taken away, other sequences become visible", () => {
  expect(neutralise("\x1b[1;31mred\x1b[0m \x1b[2J")).toBe("red \\x1b[2J");
});

test("of a name nothing is taken away, so that it cannot pass for another one", () => {
  expect(showName("src/greet\x1b[31ming.txt\r\n\tx")).toBe("src/greet\\x1b[31ming.txt\\x0d\\n\\tx");
});

test.each([
  [{ isTTY: false }, {}],
  [{ isTTY: true }, { NO_COLOR: "1" }],
  [{ isTTY: true }, { TERM: "dumb" }],
])("nothing is painted for %j with %j", (sink, env) => {
  expect(paintFor(sink as never, env).red("x")).toBe("x");
});

test("a terminal is painted", () => {
  expect(paintFor({ isTTY: true } as never, {}).red("x")).toBe("\x1b[31mx\x1b[39m");
});
