import { backOffMs } from "../runtime/clock/back-off.ts";
import { hashOf } from "./file-source.ts";
import { sendRequest, successText } from "./send-request.ts";
import type { TransferDeps } from "./transfer-deps.ts";
import { TransferFailure } from "./transfer-failure.ts";
import type { Sending } from "./upload-file.ts";

const partTriesMax = 3;

export type PutPart = { number: number; etag: string };

/**
 * Puts a file into a store in parts, each tried by itself, except those that an earlier try has put. Returns what the
 * store answered to each. Why: ADR 0054.
 */
export async function uploadParts(deps: TransferDeps, sending: Sending): Promise<PutPart[]> {
  const { source, facts, url, signal, onProgress } = sending;
  const put: PutPart[] = [];
  for (const part of url.parts ?? []) {
    put.push({ number: part.number, etag: part.etag ?? (await putPart(deps, sending, part)) });
    onProgress(part.offset + part.size);
  }
  // The parts were read at different times; they are only joined if together they are still what was asked for.
  if ((await hashOf(source, signal)) === facts.sha256) return put;
  throw new TransferFailure("changed", "the file was changed while it was sent");
}

type Part = NonNullable<Sending["url"]["parts"]>[number];

async function putPart(deps: TransferDeps, sending: Sending, part: Part): Promise<string> {
  const { source, url, signal, onProgress } = sending;
  for (let failures = 0; ; ) {
    try {
      const response = await sendRequest(deps, {
        method: "PUT",
        url: part.url,
        headers: { ...url.headers, "content-length": String(part.size) },
        body: counted(source.read(part.offset, part.offset + part.size), part.offset, onProgress),
        signal,
      });
      await successText(response);
      const tag = response.header("etag");
      if (tag !== undefined) return tag;
      throw new TransferFailure("refused", `the store answered part ${part.number} without an ETag`);
    } catch (error) {
      signal.throwIfAborted();
      const mayTry = error instanceof TransferFailure && error.problem === "unavailable";
      if (!mayTry || ++failures >= partTriesMax) throw error;
      const pauseMs = backOffMs(failures - 1, { firstMs: 200, maxMs: 5_000, random: deps.random });
      await deps.clock.sleep(pauseMs, signal);
    }
  }
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  from: number,
  onProgress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let at = from;
  for await (const chunk of chunks) {
    yield chunk;
    at += chunk.length;
    onProgress(at);
  }
}
