import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { openBase } from "../runtime/files/open-beneath.ts";
import { findOutputFiles, manifestName } from "./find-output-files.ts";
import type { TransferDeps } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";
import { uploadOutputs } from "./upload-outputs.ts";

let dir: string;
let base: FileHandle;
let store: Server;
let kept: Map<string, string>;
let origin: string;
const deps: TransferDeps = { clock: systemClock, random: () => 0 };

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-outputs-"));
  mkdirSync(join(dir, "output"));
  base = await openBase(join(dir, "output"));
  kept = new Map();
  store = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
    if (incoming.url!.includes("broken")) return void outgoing.writeHead(403).end();
    kept.set(incoming.url!, body.toString());
    outgoing.writeHead(201).end();
  });
  store.listen(0, "127.0.0.1");
  await once(store, "listening");
  origin = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
});

afterEach(async () => {
  await base.close();
  store.closeAllConnections();
  store.close();
  rmSync(dir, { recursive: true, force: true });
});

function write(path: string, text = path): void {
  const file = join(dir, "output", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function list(...entries: [path: string, key: string][]): void {
  const files = entries.map(([local_path, object_key]) => ({ local_path, object_key }));
  write(manifestName, JSON.stringify({ files }));
}

async function upload(collect?: string[], prefix = "run") {
  const { files, problems } = await findOutputFiles(base, collect);
  const location = { folder_id: "f", prefix };
  const askUrl = async ({ objectKey }: { objectKey: string }) => ({ url: `${origin}/${objectKey}` });
  const signal = new AbortController().signal;
  const uploaded = await uploadOutputs(deps, { base, files, location, askUrl, signal });
  return { ...uploaded, problems: [...problems, ...uploaded.problems] };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

test("the files of a manifest are kept under their keys, with size and hash", async () => {
  write("a.txt");
  write("deep/b.txt");
  list(["deep/b.txt", "b.txt"], ["a.txt", "sub/a.txt"]);
  expect(await upload()).toEqual({
    stored: [
      { folder_id: "f", object_key: "run/b.txt", size: 10, sha256: sha256("deep/b.txt") },
      { folder_id: "f", object_key: "run/sub/a.txt", size: 5, sha256: sha256("a.txt") },
    ],
    problems: [],
    failures: [],
  });
  expect(kept.get("/run/b.txt")).toBe("deep/b.txt");
});

test("without a manifest nothing is kept", async () => {
  write("a.txt");
  expect(await upload()).toEqual({ stored: [], problems: [], failures: [] });
});

test("M-01: an entry that leads out or through a link is refused and reported, and the others are kept", async () => {
  write("good.txt");
  writeFileSync(join(dir, "secret"), "secret");
  symlinkSync("../secret", join(dir, "output/link"));
  symlinkSync("/proc/self/environ", join(dir, "output/environ"));
  linkSync(join(dir, "secret"), join(dir, "output/hard"));
  list(
    ["../secret", "a"],
    [join(dir, "secret"), "b"],
    ["link", "c"],
    ["environ", "d"],
    ["hard", "e"],
    ["good.txt", "good.txt"],
  );
  const { stored, problems } = await upload();
  expect(stored.map(({ object_key }) => object_key)).toEqual(["run/good.txt"]);
  expect(problems.map(({ leadsOut }) => leadsOut)).toEqual(Array(5).fill(true));
  expect([...kept.values()]).toEqual(["good.txt"]);
});

test("M-01: an entry that is missing, or is not a plain file, is refused, and the others are kept", async () => {
  write("good.txt");
  mkdirSync(join(dir, "output/folder"));
  list(["none", "a"], ["folder", "b"], ["good.txt", "c"]);
  const { stored, problems } = await upload();
  expect(stored).toHaveLength(1);
  expect(problems).toEqual([
    { message: '"none" does not exist', leadsOut: false },
    { message: '"folder" is not a plain file', leadsOut: false },
  ]);
});

test.each([
  ["../other-tenant/x", true],
  ["/x", true],
  ["a//b", false],
  ["%2e%2e/x", false],
  ["a\0b", false],
  ["x".repeat(1025), false],
  ["a\nb", false],
  ["", false],
])("M-02: the key %j is refused (%#)", async (key, leadsOut) => {
  write("a");
  list(["a", key]);
  expect(await upload()).toMatchObject({ stored: [], problems: [{ leadsOut }] });
});

test("M-03: a manifest that cannot be used keeps nothing and is reported", async () => {
  write("a");
  for (const text of ["{", "[]", '{"files":[{"local_path":1}]}', '{"files":{}}', "[".repeat(1_000_000)]) {
    write(manifestName, text);
    expect(await upload()).toMatchObject({ stored: [], problems: [{ leadsOut: false }] });
  }
  truncateSync(join(dir, "output", manifestName), 100_000_000);
  const tooLarge = { message: `${manifestName} is larger than 1048576 bytes`, leadsOut: false };
  expect((await upload()).problems).toEqual([tooLarge]);
  unlinkSync(join(dir, "output", manifestName));
  symlinkSync("a", join(dir, "output", manifestName));
  expect((await upload()).problems).toMatchObject([{ leadsOut: false }]);
});

test("M-03: a manifest with more files than a job may keep is refused as a whole", async () => {
  write("a");
  list(...Array.from({ length: 1001 }, (_, index): [string, string] => ["a", `k${index}`]));
  const { stored, problems } = await upload();
  expect(stored).toEqual([]);
  expect(problems[0]!.message).toContain("at most 1000 files, not 1001");
});

test("a key that is listed twice is kept once", async () => {
  write("a");
  write("b");
  list(["a", "k"], ["b", "k"]);
  const { stored, problems } = await upload();
  expect(stored).toMatchObject([{ sha256: sha256("a") }]);
  expect(problems).toEqual([{ message: 'the manifest lists "k" twice', leadsOut: false }]);
});

test("patterns choose files instead of a manifest; links, pipes and the manifest itself are left out", async () => {
  write("a.txt");
  write("deep/b.txt");
  write("deep/c.bin");
  list(["a.txt", "from-manifest"]);
  symlinkSync("a.txt", join(dir, "output/link.txt"));
  symlinkSync("/etc", join(dir, "output/etc"));
  const keys = async (...patterns: string[]) =>
    (await upload(patterns)).stored.map(({ object_key }) => object_key);
  expect(await keys("**/*.txt")).toEqual(["run/a.txt", "run/deep/b.txt"]);
  expect(await keys("*.txt", "deep/*.bin")).toEqual(["run/a.txt", "run/deep/c.bin"]);
  expect(await keys("**")).toEqual(["run/a.txt", "run/deep/b.txt", "run/deep/c.bin"]);
});

test("a file whose name cannot be a key is named, and the others are kept", async () => {
  write("my report.txt");
  write("a.txt");
  const { stored, problems } = await upload(["**"]);
  expect(stored).toHaveLength(1);
  expect(problems[0]!.message).toBe(
    'the key "my report.txt" must contain only letters, digits and . _ = @ + - /',
  );
});

test("F-50: what did not arrive is named, and what did arrive is kept", async () => {
  write("good");
  write("broken");
  const { stored, failures } = await upload(["**"]);
  expect(stored.map(({ object_key }) => object_key)).toEqual(["run/good"]);
  expect(failures).toEqual(['"broken": the store answered 403']);
});

test("a refusal of the hub concerns one file; a lost lease ends all", async () => {
  write("a");
  write("b");
  const { files } = await findOutputFiles(base, ["**"]);
  const signal = new AbortController().signal;
  const outputs = { base, files, location: { folder_id: "f" }, signal };
  const askUrl = async ({ objectKey }: { objectKey: string }) => {
    if (objectKey === "a") throw new TransferFailure("refused", "over the quota");
    return { url: `${origin}/b` };
  };
  expect(await uploadOutputs(deps, { ...outputs, askUrl })).toMatchObject({
    stored: [{ object_key: "b" }],
    failures: ['"a": over the quota'],
  });
  const lost = () => Promise.reject(new Error("lease lost"));
  await expect(uploadOutputs(deps, { ...outputs, askUrl: lost })).rejects.toThrow("lease lost");
});
