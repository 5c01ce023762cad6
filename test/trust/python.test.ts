import { spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalize } from "../../src/signing/canonical.ts";
import { generateSigningKey, loadVerifyingKey, signText, verifyText } from "../../src/signing/ed25519.ts";
import { parseJson } from "../../src/signing/parse-json.ts";

const python = "/usr/bin/python3";
const script = fileURLToPath(new URL("./fixtures/cross_check.py", import.meta.url));
const hasPython = spawnSync(python, ["-c", "import cryptography"]).status === 0;
if (!hasPython) console.warn(`NOT CHECKED against Python: ${python} has no package cryptography`);

const documentCount = 10_000;

/** What no random document can be trusted to hold. */
const chosen = [
  '{"\\ud83d\\ude00":1,"\\uffff":2,"\\ue000":3,"z":4,"é":5}',
  '{"a":1.0,"b":-0.0,"c":1e-07,"d":1e21,"e":1E+22,"f":0.1,"g":123456789012345680.0,"h":5e-324,"i":1e16}',
  '{"i":9007199254740991,"j":-9007199254740991,"k":0}',
  '{"s":"\\u0000\\u001f\\u007f\\u0080\\u2028\\"\\\\/\\b\\f\\n\\r\\t"}',
  '{"":{"":[[],{},[{}]]},"\\u0061\\u030a":1,"å":2}',
];

type Cases = {
  signatures: { comment: string; public_key: string; message: string; signature: string; valid: boolean }[];
  weak_keys: { comment: string; public_key: string }[];
};
const cases = JSON.parse(
  readFileSync(new URL("./fixtures/ed25519-cases.json", import.meta.url), "utf8"),
) as Cases;

function pemOf(hex: string): string {
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(hex, "hex")]);
  return `-----BEGIN PUBLIC KEY-----\n${der.toString("base64")}\n-----END PUBLIC KEY-----\n`;
}

describe("edge cases of Ed25519", () => {
  test.each(cases.weak_keys)("a public key is refused: $comment", ({ public_key }) => {
    expect(() => loadVerifyingKey(pemOf(public_key))).toThrow(
      expect.objectContaining({ code: "KEY_REJECTED" }),
    );
  });

  test.each(cases.signatures)("$valid: $comment", ({ public_key, message, signature, valid }) => {
    const key = loadVerifyingKey(pemOf(public_key));
    const text = `base64:${Buffer.from(signature, "hex").toString("base64")}`;
    expect(verifyText(key, message, text)).toBe(valid);
    expect(createPublicKey(pemOf(public_key)).asymmetricKeyType).toBe("ed25519");
  });
});

describe.skipIf(!hasPython)(`against Python${hasPython ? "" : " (not capable: no python3)"}`, () => {
  test(`${documentCount} documents: the same bytes, and signatures hold in both directions`, () => {
    const random = fc.sample(documentText(), { numRuns: documentCount, seed: 20_261_115 });
    const documents = [...chosen, ...random].map((text) => ({
      text,
      canonical: canonicalize(parseJson(text)),
    }));
    const key = generateSigningKey().signingKey;
    const asked = documents.map(({ text, canonical }) => {
      // Both texts mean the same, so the one that was written by hand is sent and the canonical one signed.
      return { document: text, signature: signText(key, canonical) };
    });
    const [pem, ...answers] = ask(key.publicKeyPem, asked) as [string, ...PythonAnswer[]];
    expect(answers).toHaveLength(documents.length);
    expect(answers.map(({ text }) => text)).toEqual(documents.map(({ canonical }) => canonical));
    expect(answers.filter(({ verifies }) => !verifies)).toEqual([]);
    const theirs = loadVerifyingKey(pem);
    const broken = answers.filter(
      ({ signature }, index) => !verifyText(theirs, documents[index]!.canonical, signature),
    );
    expect(broken).toEqual([]);
  });

  test("the edge cases are judged alike", () => {
    const key = generateSigningKey().signingKey;
    const [, ...verdicts] = ask(key.publicKeyPem, cases.signatures);
    expect(verdicts).toEqual(cases.signatures.map(({ valid }) => valid));
  });
});

type PythonAnswer = { text: string; verifies: boolean; signature: string };

function ask(publicKeyPem: string, asked: object[]): unknown[] {
  const input = [publicKeyPem, ...asked].map((line) => `${JSON.stringify(line)}\n`).join("");
  const run = spawnSync(python, [script], { input, encoding: "utf8", maxBuffer: 256 * 1024 ** 2 });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Texts, not values: the spelling of numbers matters. Keys and strings reach into every plane. */
function documentText(): fc.Arbitrary<string> {
  const string = fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.string({ maxLength: 6 }));
  const name = string.filter((it) => it !== "__proto__");
  const decimal = fc.oneof(
    fc.stringMatching(/^-?(0|[1-9][0-9]{0,18})\.[0-9]{1,18}([eE][+-]?[0-9]{1,2})?$/),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((it) => it.toExponential()),
  );
  const { node } = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("null", "true", "false"),
      fc.maxSafeInteger().map((it) => String(it + 0)),
      decimal,
      string.map((it) => JSON.stringify(it)),
      fc.array(tie("node"), { maxLength: 5 }).map((items) => `[${items.join(" ,")}]`),
      objectText(name, tie("node")),
    ),
  }));
  return objectText(name, node);
}

function objectText(name: fc.Arbitrary<string>, member: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .uniqueArray(fc.tuple(name, member), { selector: ([key]) => key, maxLength: 6 })
    .map((members) => `{${members.map(([key, text]) => `${JSON.stringify(key)}: ${text}`).join(",")}}`);
}
