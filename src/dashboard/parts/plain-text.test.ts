import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { PlainText, plainText } from "./plain-text.tsx";

const harmful = [
  "\u202e",
  "\u2066",
  "\u200b",
  "\u061c",
  "\u00ad",
  "\ufeff",
  "\u2028",
  "\x1b",
  "\n",
  "\ud800",
];

test("L-02: characters that turn, hide or break text are shown as their number", () => {
  expect(plainText("invoice\u202egnp.exe")).toBe("invoice[U+202E]gnp.exe");
  expect(plainText("tag\u{e0041}s")).toBe("tag[U+E0041]s");
  for (const character of harmful) expect(plainText(`a${character}b`)).toMatch(/^a\[U\+[0-9A-F]{4}\]b$/);
});

test("a joiner is shown as its number, except between two emoji that it joins", () => {
  for (const emoji of ["👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀"])
    expect(plainText(emoji)).toBe(emoji);
  expect(plainText("pay\u200dpal")).toBe("pay[U+200D]pal");
  expect(plainText("👨\u200dx")).toBe("👨[U+200D]x");
  expect(plainText("👨\u200d\u200d👩")).toBe("👨[U+200D][U+200D]👩");
});

test("L-02: the component shows such characters in boxes and leaves other text unchanged", () => {
  const html = renderToStaticMarkup(createElement(PlainText, { text: "invoice\u202egnp.exe" }));
  expect(html).toBe('<bdi>invoice<span class="control-text">U+202E</span>gnp.exe</bdi>');
  expect(plainText("Grüße, שלום, 日本 😀")).toBe("Grüße, שלום, 日本 😀");
});
