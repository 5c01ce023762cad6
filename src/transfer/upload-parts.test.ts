import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../runtime/clock/clock.ts";
import { bytesSource } from "./file-source.ts";
import { uploadFile } from "./upload-file.ts";

test("a file that is changed while its parts are sent is never joined", async () => {
  const heard: string[] = [];
  let bytes = randomBytes(20);
  const store = createServer((incoming, outgoing) => {
    heard.push(`${incoming.method} ${incoming.url}`);
    // Somebody writes to the file when its first part has been sent.
    bytes = randomBytes(20);
    incoming.resume().on("end", () => outgoing.writeHead(200, { etag: '"tag"' }).end());
  });
  store.listen(0, "127.0.0.1");
  await once(store, "listening");
  onTestFinished(() => void store.close());
  const origin = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
  const parts = [1, 2].map((number) => ({
    number,
    offset: (number - 1) * 10,
    size: 10,
    url: `${origin}/${number}`,
  }));
  const source = {
    size: 20,
    read: (from: number, to: number) => bytesSource(bytes).read(from, to),
  };
  const askUrl = async () => ({ url: origin, parts, complete_url: `${origin}/join` });
  const deps = { clock: systemClock, random: Math.random };
  const upload = uploadFile(deps, { source, askUrl, signal: new AbortController().signal });
  await expect(upload).rejects.toMatchObject({ problem: "changed" });
  expect(heard).toEqual(["PUT /1", "PUT /2"]);
});
