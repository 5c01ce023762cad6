import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalize } from "./canonical.ts";
import { parseJson } from "./parse-json.ts";

const isPythonThere = spawnSync("python3", ["--version"]).status === 0;
const whySkipped = isPythonThere
  ? ""
  : " [SKIPPED: no python3 on this host, canonical form NOT cross-checked]";

const pythonCanonicalizer = `
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True, separators=(',', ':')))
`;

test.skipIf(!isPythonThere)(`Python writes the same bytes for 4,000 random documents${whySkipped}`, () => {
  const texts = [...fc.sample(documentText(), 3000), ...fc.sample(decimalText(), 1000)];
  const run = spawnSync("python3", ["-X", "utf8", "-c", pythonCanonicalizer], {
    input: `${texts.join("\n")}\n`,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  });
  expect(run.stderr).toBe("");
  const lines = run.stdout.split("\n").slice(0, -1);
  expect(lines.length).toBe(texts.length);
  expect(texts.map((text) => canonicalize(parseJson(text)))).toEqual(lines);
});

/** Texts, not values: the tokens matter. Keys and strings reach into every plane and every escape. */
function documentText(): fc.Arbitrary<string> {
  const string = fc.string({ unit: "binary", maxLength: 8 });
  const key = fc.oneof(string, fc.string({ maxLength: 6 })).filter((it) => it !== "__proto__");
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constantFrom("null", "true", "false"),
      fc.maxSafeInteger().map((it) => String(it + 0)),
      decimalText(),
      fc.oneof(string, fc.string()).map((it) => JSON.stringify(it)),
      fc.array(tie("node"), { maxLength: 6 }).map((items) => `[${items.join(", ")}]`),
      objectText(key, tie("node")),
    ),
  }));
  return objectText(key, node);
}

function objectText(key: fc.Arbitrary<string>, member: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(key, member), { selector: ([name]) => name, maxLength: 7 })
    .map((members) => `{${members.map(([name, text]) => `${JSON.stringify(name)} :${text}`).join(",")}}`);
}

function decimalText(): fc.Arbitrary<string> {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,20})\.[0-9]{1,20}([eE][+-]?[0-9]{1,2})?$/);
  const double = fc.double({ noNaN: true, noDefaultInfinity: true }).map((it) => it.toExponential());
  return fc.oneof(
    digits,
    double,
    fc.tuple(fc.constantFrom("", "-"), digits).map((parts) => parts.join("")),
  );
}
