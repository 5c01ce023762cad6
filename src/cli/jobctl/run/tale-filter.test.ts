import { expect, test } from "vitest";
import { TaleFilter } from "./tale-filter.ts";

const tale = '{"type":"assistant","message":{}}\n';

function filtered(...pieces: string[]): string {
  const filter = new TaleFilter();
  return pieces.map((piece) => filter.push(piece)).join("") + filter.end();
}

test("an object with a type is left out, wherever the pieces end, and all other text is shown", () => {
  const text = `before\n${tale}{"type":7}\n{"a":1}\n[1]\n{not JSON\n  ${tale}after {"type":"x"}\n`;
  const shown = `before\n{"type":7}\n{"a":1}\n[1]\n{not JSON\n  ${tale}after {"type":"x"}\n`;
  for (let at = 0; at <= text.length; at++) expect(filtered(text.slice(0, at), text.slice(at))).toBe(shown);
  expect(filtered(...text)).toBe(shown);
  expect(filtered(tale.trimEnd())).toBe("");
});

test("text that begins no object is shown at once, and an object without an end is shown in the end", () => {
  const filter = new TaleFilter();
  expect(filter.push("password: ")).toBe("password: ");
  expect(filter.push('\n{"type":"as')).toBe("\n");
  expect(filter.end()).toBe('{"type":"as');
});
