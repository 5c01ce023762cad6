import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { compareReaders } from "../../src/hub/use-cases/jobs/plain-submissions.testing.ts";

const documentsMin = 1_000_000;
const batchesAtOnce = 50_000;

const pythonCanonicalizer = `
import json, sys
for line in sys.stdin:
    print(json.dumps(json.loads(line), sort_keys=True, separators=(',', ':')))
`;

test("a million documents from the producer's bytes are those that the strict parser and Python write", () => {
  let documents = 0;
  // Bounded by the documents: each seed gives thousands.
  for (let seed = 1; documents < documentsMin; seed++) {
    const made = compareReaders(seed, batchesAtOnce).documents;
    documents += made.length;
    const python = spawnSync("python3", ["-X", "utf8", "-c", pythonCanonicalizer], {
      input: `${made.join("\n")}\n`,
      encoding: "utf8",
      maxBuffer: 1024 ** 3,
    });
    expect(python.stderr).toBe("");
    const differing = python.stdout.split("\n").findIndex((line, index) => line !== (made[index] ?? ""));
    expect(made[differing], `document ${differing} of seed ${seed}`).toBeUndefined();
  }
  console.log(`${documents} documents compared`);
});
