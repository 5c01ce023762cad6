import { expect, test } from "vitest";
import { Files } from "../../src/client/files/files.ts";
import { Fleet } from "../../src/client/fleet.ts";
import { HubClient } from "../../src/client/hub/hub-client.ts";
import { JobsOverGrpc, Writ } from "../../src/client/index.ts";
import { WritError } from "../../src/core/errors.ts";
import { Worker } from "../../src/worker/index.ts";
import { readText } from "./page.ts";

const page = readText("docs/sdk.md");
const entryFiles = [
  "src/client/index.ts",
  "src/client/shapes.ts",
  "src/worker/index.ts",
  "src/sandbox/index.ts",
  "src/jobs/index.ts",
];

/** Option types whose fields the page has to list. */
const optionTypes = {
  WritOptions: "src/client/options.ts",
  WaitOptions: "src/client/jobs/wait-job.ts",
  StreamOutputOptions: "src/client/output/stream-output.ts",
  UploadOptions: "src/client/files/files.ts",
  TransferOptions: "src/client/files/files.ts",
  HubOptions: "src/worker/index.ts",
  WorkerOptions: "src/worker/index.ts",
  HandlerContext: "src/runners/handler.ts",
  HandlerJob: "src/runners/handler.ts",
  OpenCageOptions: "src/sandbox/open-cage.ts",
  Cage: "src/sandbox/open-cage.ts",
  JobStatus: "src/sandbox/open-cage.ts",
  ServeOptions: "src/jobs/serve-jobs.ts",
  JobContext: "src/jobs/handlers.ts",
};

test.each(entryFiles)("C11: docs/sdk.md names everything that %s exports", (file) => {
  const names = exportsOf(readText(file));
  expect(names.length).toBeGreaterThan(2);
  expect(names.filter((name) => !isNamed(name))).toEqual([]);
});

test.each([Writ, HubClient, Fleet, Files, Worker, JobsOverGrpc])(
  "C11: docs/sdk.md names every method of %o",
  (type) => {
    const methods = Object.getOwnPropertyNames(type.prototype).filter((name) => name !== "constructor");
    const statics = Object.getOwnPropertyNames(type).filter(
      (name) => !["length", "name", "prototype"].includes(name),
    );
    expect([...methods, ...statics].filter((name) => !isNamed(name))).toEqual([]);
  },
);

test.each(Object.entries(optionTypes))("C11: docs/sdk.md names every field of %s", (type, file) => {
  const fields = fieldsOf(readText(file), type);
  expect(fields.length).toBeGreaterThan(1);
  expect(fields.filter((name) => !isNamed(name))).toEqual([]);
});

function isNamed(name: string): boolean {
  return new RegExp(`\`[^\`\n]*\\b${name}\\b[^\`\n]*\``).test(page);
}

/** The names after `export`, in a list or in a declaration; of `a as b` it is b. */
function exportsOf(text: string): string[] {
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list.split(","),
  );
  const listed = lists.map(
    (entry) =>
      entry
        .trim()
        .replace(/^type /, "")
        .split(" as ")
        .at(-1)!,
  );
  const declared = [...text.matchAll(/^export (?:type|class|const|function|async function) (\w+)/gm)].map(
    (match) => match[1]!,
  );
  return [...listed, ...declared].filter((name) => name !== "");
}

function fieldsOf(text: string, type: string): string[] {
  const body = new RegExp(`type ${type}\\b[^{]*\\{\n([\\s\\S]*?)\n\\};?`).exec(text)?.[1] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map((match) => match[1]!);
}

test.each(["client", "worker", "sandbox", "registry"])(
  "O-24: writ/%s exports the WritError that it throws",
  async (room) => {
    const entry = (await import(`../../src/${room}/index.ts`)) as { WritError?: unknown };
    expect(entry.WritError).toBe(WritError);
  },
);
