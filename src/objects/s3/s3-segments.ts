import { createHash } from "node:crypto";
import type { Clock } from "../../runtime/clock/clock.ts";
import type { Segments } from "../segments.ts";
import { S3Calls, unavailable } from "./s3-calls.ts";
import type { S3Settings } from "./s3-settings.ts";

/** Keeps segments in a bucket, beside the files of tenants: no tenant's name begins with a dot. */
export class S3Segments implements Segments {
  readonly #calls: S3Calls;

  constructor(settings: S3Settings, clock: Clock) {
    this.#calls = new S3Calls(settings, clock);
  }

  async put(id: string, bytes: Buffer<ArrayBuffer>): Promise<void> {
    // The only copy from then on, so the store compares what has arrived.
    const headers = { "content-md5": createHash("md5").update(bytes).digest("base64") };
    const answer = await this.#calls.must({ method: "PUT", key: keyOf(id), headers, body: bytes });
    await answer.body?.cancel();
  }

  async read(id: string, { start, end }: { start: number; end: number }): Promise<Buffer> {
    if (start >= end) return Buffer.alloc(0);
    const request = {
      method: "GET",
      key: keyOf(id),
      headers: { range: `bytes=${start}-${end - 1}` },
    } as const;
    const answer = await this.#calls.must(request);
    const bytes = await answer.arrayBuffer().catch((error: unknown) => {
      throw unavailable(request, String(error));
    });
    // A store that does not know ranges sends everything.
    const asked = answer.status === 206 ? Buffer.from(bytes) : Buffer.from(bytes).subarray(start, end);
    if (asked.length === end - start) return asked;
    throw unavailable(request, `${asked.length} bytes instead of ${end - start}`);
  }

  async remove(id: string): Promise<void> {
    const request = { method: "DELETE", key: keyOf(id) } as const;
    const answer = await this.#calls.call(request);
    await answer.body?.cancel();
    if (!answer.ok && answer.status !== 404) throw unavailable(request, String(answer.status));
  }
}

function keyOf(id: string): string {
  // The first digits of an id are random.
  return `.outputs/${id.slice(0, 2)}/${id}`;
}
