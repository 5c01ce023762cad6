import { expect, test } from "vitest";
import { Masker, maskText } from "./masker.ts";

test("A14: a text is masked at any cut of the chunks, even if texts overlap or contain each other", () => {
  const masks = ["hunter22", "22abc", "unte", "aaab"];
  const whole = "x hunter22abc aaaab hunter2 unter22ab";
  const expected = "x *********** a**** h****r2 ****r22ab";
  for (let first = 0; first <= whole.length; first++) {
    for (let second = first; second <= whole.length; second++) {
      const masker = new Masker(masks);
      const parts = [whole.slice(0, first), whole.slice(first, second), whole.slice(second)];
      const passed = [...parts.map((part) => masker.push(Buffer.from(part))), masker.end()];
      expect(Buffer.concat(passed).toString()).toBe(expected);
    }
  }
});

test("A14: only a possible beginning of a text is held back", () => {
  const masker = new Masker(["hunter22"]);
  expect(String(masker.push(Buffer.from("ready: hunt")))).toBe("ready: ");
  expect(String(masker.push(Buffer.from("ing ")))).toBe("hunting ");
  expect(String(masker.push(Buffer.from("hunter2")))).toBe("");
  expect(String(masker.end())).toBe("hunter2");
});

test("A14: letters of several bytes are masked by their bytes", () => {
  expect(maskText("die Schlüssel-größe", ["Schlüssel"])).toBe(`die ${"*".repeat(10)}-größe`);
});
