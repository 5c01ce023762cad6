import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { downloadFile } from "./download-file.ts";
import { bytesSource, fileSource } from "./file-source.ts";
import type { PresignedUrl, TransferDeps } from "./transfer-deps.ts";
import { uploadFile } from "./upload-file.ts";

type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => void | Promise<void>;

const mib = 1024 ** 2;
const clock = { ...systemClock, sleep: () => Promise.resolve() };
const deps: TransferDeps = { clock, random: () => 0 };
const signal = new AbortController().signal;
let dir: string;
let store: Server;
let answers: Answer[];
let asked: number;
let heard: string[];
let origin: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-transfer-"));
  [answers, heard, asked] = [[], [], 0];
  store = createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    heard.push(`${method} ${url} ${headers["content-range"] ?? headers.range ?? ""}`.trim());
    await (answers.length > 1 ? answers.shift()! : answers[0]!)(incoming, outgoing);
  });
  store.listen(0, "127.0.0.1");
  await once(store, "listening");
  origin = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
});

afterEach(async () => {
  store.closeAllConnections();
  await new Promise((resolve) => store.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

const askUrl = async (): Promise<PresignedUrl> => ({ url: `${origin}/object?try=${++asked}` });
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function status(code: number, text = "", headers: Record<string, string> = {}): Answer {
  return async (incoming, outgoing) => {
    incoming.resume();
    await once(incoming, "end").catch(() => {});
    outgoing.writeHead(code, headers).end(text);
  };
}

const cut: Answer = (incoming) => void incoming.socket.destroy();

async function withFile<T>(name: string, flags: string, act: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(join(dir, name), flags);
  try {
    return await act(file);
  } finally {
    await file.close();
  }
}

function put(bytes: Uint8Array, more: { deps?: Partial<TransferDeps> } = {}) {
  return uploadFile({ ...deps, ...more.deps }, { source: bytesSource(bytes), askUrl, signal });
}

function get(expected: { sha256?: string; bytesMax?: number } = {}, more: Partial<TransferDeps> = {}) {
  return withFile("got", "w", (target) =>
    downloadFile({ ...deps, ...more }, { target, askUrl, signal, ...expected }),
  );
}

test("a file is sent with its length, and its hash is returned", async () => {
  const bytes = randomBytes(3 * mib);
  let got = Buffer.alloc(0);
  answers = [
    async (incoming, outgoing) => {
      expect(incoming.headers["content-length"]).toBe(String(bytes.length));
      got = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
      outgoing.writeHead(200, { etag: `"${createHash("md5").update(got).digest("hex")}"` }).end();
    },
  ];
  writeFileSync(join(dir, "file"), bytes);
  const facts = await withFile("file", "r", async (file) =>
    uploadFile(deps, { source: await fileSource(file), askUrl, signal }),
  );
  expect(facts).toEqual({ size: bytes.length, sha256: sha256(bytes) });
  expect(got.equals(bytes)).toBe(true);
});

test("F-50: a store that fails or breaks off is tried three times, each time with a fresh URL", async () => {
  const puts = () => heard.filter((line) => line.startsWith("PUT"));
  answers = [status(500), status(404), cut, status(404), status(200)];
  await put(Buffer.from("x"));
  expect(puts()).toEqual(["PUT /object?try=1", "PUT /object?try=2", "PUT /object?try=3"]);
  answers = [status(503, "<Code>SlowDown</Code>")];
  await expect(put(Buffer.from("x"))).rejects.toMatchObject({
    problem: "unavailable",
    message: "the store answered 503: <Code>SlowDown</Code>",
  });
  expect(puts()).toHaveLength(6);
});

test("F-50: a refusal is not tried again, unless it says that the URL has expired", async () => {
  answers = [status(403, "<Code>AccessDenied</Code>")];
  await expect(put(Buffer.from("x"))).rejects.toMatchObject({ problem: "refused" });
  expect(asked).toBe(1);
  answers = [status(403, "<Message>Request has expired</Message>"), status(404), status(200)];
  await put(Buffer.from("x"));
  expect(asked).toBe(3);
});

test("F-50: a redirect is not followed", async () => {
  answers = [status(307, "", { location: "http://127.0.0.1:1/elsewhere" })];
  await expect(put(Buffer.from("x"))).rejects.toMatchObject({ problem: "refused" });
  await expect(get()).rejects.toMatchObject({ problem: "refused" });
  expect(heard).toHaveLength(2);
});

test("F-50: a store that has kept other bytes, as its ETag says, has failed", async () => {
  answers = [status(200, "", { etag: `"${"0".repeat(32)}"` })];
  await expect(put(Buffer.from("x"))).rejects.toThrow("the store has kept other bytes than were sent");
  expect(asked).toBe(3);
  answers = [status(200, "", { etag: '"abc-2"' })];
  await put(Buffer.from("x"));
});

test("F-50: a store that takes or gives a byte now and then is given up", async () => {
  const stall = { windowMs: 50, bytesMin: 1000 };
  answers = [() => {}];
  await expect(put(randomBytes(20 * mib), { deps: { stall } })).rejects.toThrow("bytes have moved in");
  answers = [
    (_, outgoing) => {
      outgoing.writeHead(200);
      const drip = setInterval(() => outgoing.write("x"), 10);
      outgoing.on("close", () => clearInterval(drip));
    },
  ];
  await expect(get({}, { stall })).rejects.toThrow("less than 1000 bytes have moved in 50 ms");
});

test("an upload that was cut continues where the store says that it broke off", async () => {
  const bytes = randomBytes(20 * mib);
  const kept: Buffer[] = [];
  const keptBytes = () => kept.reduce((sum, { length }) => sum + length, 0);
  const takeHalf: Answer = async (incoming) => {
    const { socket } = incoming;
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      kept.push(chunk);
      if (keptBytes() > 10 * mib) break;
    }
    socket.destroy();
  };
  const offset: Answer = (_, outgoing) =>
    void outgoing.writeHead(200, { "upload-offset": String(keptBytes()) }).end();
  const takeRest: Answer = async (incoming, outgoing) => {
    kept.push(...(await Array.fromAsync(incoming as AsyncIterable<Buffer>)));
    outgoing.writeHead(200).end();
  };
  answers = [offset, takeHalf, offset, takeRest];
  await put(bytes);
  expect(Buffer.concat(kept).equals(bytes)).toBe(true);
  expect(heard.map((line) => line.split(" ")[0])).toEqual(["HEAD", "PUT", "HEAD", "PUT"]);
  expect(heard.at(-1)).toMatch(/^PUT \/object\?try=2 bytes \d{8}-20971519\/20971520$/);
});

test("a file whose last answer was lost is not sent a second time", async () => {
  const complete = status(200, "", { "upload-offset": "1", "upload-complete": "?1" });
  answers = [cut, complete];
  expect(await put(Buffer.from("x"))).toMatchObject({ size: 1 });
  expect(heard).toEqual(["PUT /object?try=1", "HEAD /object?try=2"]);
});

test("a file that is changed while it is sent is not completed", async () => {
  const bytes = randomBytes(mib);
  let got = 0;
  answers = [
    async (incoming, outgoing) => {
      for await (const chunk of incoming as AsyncIterable<Buffer>) got += chunk.length;
      outgoing.writeHead(200).end();
    },
  ];
  const source = bytesSource(bytes);
  const other = { size: source.size, read: bytesSource(randomBytes(mib)).read };
  const upload = uploadFile(deps, { source: other, sha256: sha256(bytes), askUrl, signal });
  await expect(upload).rejects.toMatchObject({ problem: "changed" });
  expect(asked).toBe(1);
  expect(got).toBeLessThan(mib);
});

test("a large file is sent in parts where the store wants that, and each part is tried by itself", async () => {
  const bytes = randomBytes(100);
  const kept = new Map<string, string>();
  const store = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    Array.fromAsync(incoming as AsyncIterable<Buffer>).then((chunks) => {
      kept.set(incoming.url!, Buffer.concat(chunks).toString("latin1"));
      outgoing.writeHead(200, { etag: `"tag${incoming.url}"` }).end();
    });
  answers = [store, cut, store, store];
  const parts = [0, 1].map((n) => ({
    number: n + 1,
    offset: n * 60,
    size: n === 0 ? 60 : 40,
    url: `${origin}/part${n}`,
  }));
  const url = { url: `${origin}/whole`, parts, complete_url: `${origin}/join` };
  await uploadFile(deps, { source: bytesSource(bytes), askUrl: async () => url, signal });
  expect(heard).toEqual(["PUT /part0", "PUT /part1", "PUT /part1", "POST /join"]);
  expect(kept.get("/part0")! + kept.get("/part1")!).toBe(bytes.toString("latin1"));
  expect(JSON.parse(kept.get("/join")!)).toEqual({
    parts: [
      { number: 1, etag: '"tag/part0"' },
      { number: 2, etag: '"tag/part1"' },
    ],
  });
});

test("parts that an earlier try has put are not put again, also when the URLs of the others expire", async () => {
  const bytes = randomBytes(30);
  const parts = [1, 2, 3].map((number) => ({
    number,
    offset: (number - 1) * 10,
    size: 10,
    url: `${origin}/${number}`,
  }));
  const ask = async (): Promise<PresignedUrl> => {
    const there = parts.map((part) => ({ ...part, ...(part.number <= asked ? { etag: "there" } : {}) }));
    asked++;
    return { url: `${origin}/whole`, parts: there, complete_url: `${origin}/join` };
  };
  const expired = status(403, "<Message>Request has expired</Message>");
  answers = [status(200, "", { etag: "put" }), expired, expired, status(200, "", { etag: "put" })];
  await uploadFile(deps, { source: bytesSource(bytes), askUrl: ask, signal });
  expect(heard).toEqual(["PUT /1", "PUT /2", "PUT /2", "PUT /3", "POST /join"]);
});

test("a download that was cut continues where it broke off, and is hashed as a whole", async () => {
  const bytes = randomBytes(3 * mib);
  answers = [
    (_, outgoing) => {
      outgoing.writeHead(200, { "content-length": bytes.length });
      outgoing.write(bytes.subarray(0, mib), () => outgoing.socket!.destroySoon());
    },
    (incoming, outgoing) => {
      const from = Number(/bytes=(\d+)-/.exec(incoming.headers.range!)![1]);
      const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
      outgoing.writeHead(206, { "content-range": range }).end(bytes.subarray(from));
    },
  ];
  expect(await get({ sha256: sha256(bytes) })).toEqual({ size: bytes.length, sha256: sha256(bytes) });
  expect(readFileSync(join(dir, "got")).equals(bytes)).toBe(true);
  expect(heard[1]).toMatch(/^GET \/object\?try=2 bytes=\d+-$/);
});

test("a store that knows no ranges is read from the beginning again", async () => {
  const half: Answer = (_, outgoing) => {
    outgoing.writeHead(200, { "content-length": 6 });
    outgoing.write("abc", () => outgoing.socket!.destroySoon());
  };
  answers = [half, status(200, "abcdef")];
  expect(await get()).toMatchObject({ size: 6, sha256: sha256(Buffer.from("abcdef")) });
});

test("an object that is replaced while it is fetched is never half the old one", async () => {
  const half: Answer = (_, outgoing) => {
    outgoing.writeHead(200, { "content-length": 6, etag: '"old"' });
    outgoing.write("abc", () => outgoing.socket!.destroySoon());
  };
  const rest: Answer = (_, outgoing) => {
    outgoing.writeHead(206, { "content-range": "bytes 3-5/6", etag: '"new"' }).end("DEF");
  };
  const facts = { size: 6, sha256: sha256(Buffer.from("ABCDEF")) };
  answers = [half, rest, status(200, "ABCDEF", { etag: '"new"' })];
  expect(await get()).toEqual(facts);
  expect(readFileSync(join(dir, "got"), "utf8")).toBe("ABCDEF");
  const shorter = status(416, "", { "content-range": "bytes */2" });
  answers = [half, shorter, status(200, "AB", { etag: '"new"' })];
  expect(await get()).toEqual({ size: 2, sha256: sha256(Buffer.from("AB")) });
  // The last byte had arrived when the connection broke.
  const all: Answer = (_, outgoing) => {
    outgoing.writeHead(200, { etag: '"old"', "transfer-encoding": "chunked" });
    outgoing.write("abc", () => outgoing.socket!.destroySoon());
  };
  answers = [all, status(416, "", { "content-range": "bytes */3" })];
  expect(await get()).toEqual({ size: 3, sha256: sha256(Buffer.from("abc")) });
});

test("an object with other bytes is refused at once, and nothing is left of it", async () => {
  answers = [status(200, "other")];
  await expect(get({ sha256: sha256(Buffer.from("right")) })).rejects.toMatchObject({ problem: "mismatch" });
  expect(asked).toBe(1);
  expect(readFileSync(join(dir, "got"))).toHaveLength(0);
});

test("an object that does not exist, or is too large, is not asked for again", async () => {
  answers = [status(404)];
  await expect(get()).rejects.toMatchObject({ problem: "missing" });
  answers = [status(200, "12345")];
  await expect(get({ bytesMax: 4 })).rejects.toMatchObject({ problem: "too-large" });
  expect(asked).toBe(2);
});

test("an abort ends a transfer at once, with its reason", async () => {
  const stop = new AbortController();
  answers = [() => stop.abort(new Error("enough"))];
  const upload = { source: bytesSource(randomBytes(mib)), askUrl, signal: stop.signal };
  await expect(uploadFile(deps, upload)).rejects.toThrow("enough");
  expect(asked).toBe(1);
});
