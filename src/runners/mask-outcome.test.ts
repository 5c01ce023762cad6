import { expect, test } from "vitest";
import { cutText } from "../core/text/cut-text.ts";
import { maskMessage, maskOutcome } from "./mask-outcome.ts";

const secret = "SuperSecretValue/123";
const masks = [secret];

test("O-07: a message that quotes a secret and cuts it off shows no beginning of it", () => {
  const quoted = `the key is ${secret}`;
  for (let chars = "the key is ".length + 1; chars <= quoted.length; chars++) {
    const message = `answered ${cutText(quoted, chars)}; expected nothing`;
    const masked = maskMessage(message, masks);
    expect(masked).toMatch(/^answered the key is \**…?; expected nothing$/);
    expect(masked).toHaveLength(message.length);
  }
});

test("O-07: a text that looks like the beginning of a secret is masked before a cut and nowhere else", () => {
  expect(maskMessage("Super… and Super", masks)).toBe("*****… and Super");
});

test("a letter of two parts is not cut in the middle", () => {
  expect(cutText("ab😀cd", 4)).toBe("ab…");
  expect(cutText("ab😀", 4)).toBe("ab😀");
});

test("O-07: the reason of a released job names no secret either", () => {
  const outcome = { kind: "released", reason: `cannot open ${secret}`, isHostDown: true } as const;
  expect(maskOutcome(outcome, masks)).toEqual({ ...outcome, reason: `cannot open ${"*".repeat(20)}` });
});

test("O-21 the code that a handler gives its error names no secret", () => {
  const outcome = { kind: "failed", code: "EXECUTION_ERROR", ownCode: secret, reason: "no" } as const;
  expect(maskOutcome(outcome, masks)).toEqual({ ...outcome, ownCode: "*".repeat(20) });
});
