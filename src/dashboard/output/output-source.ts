import { buildRequest } from "../../contract/routes/build-request.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { isActive } from "../../core/jobs/job.ts";
import type { OutputStream } from "../../core/jobs/output-stream.ts";
import { callHub } from "../hub/call-hub.ts";
import { sessionHeaders } from "../hub/session.ts";
import { Store } from "../hub/store.ts";
import { heldBytesMax, OutputBuffer } from "./output-buffer.ts";

const readBytes = 256 * 1024;
const drawMs = 100;
const retryMs = 2_000;

type OutputState = {
  buffer: OutputBuffer;
  /** How large the stream is, as far as is known. */
  size: number;
  isLive: boolean;
  /** Until the hub's first answer, the page does not know what was written. */
  isLoading: boolean;
  problem: string | null;
  /** Changes with each addition, so that the view renders again. */
  version: number;
  /** Lines that were added at the start by the last change. */
  prepended: number;
};

type Wanted = {
  jobId: string;
  stream: OutputStream;
  attempt: number;
  /** Null for an earlier attempt: only the hub knows how much it wrote. */
  size: number | null;
  isLive: boolean;
};

/** Reads one stream of one attempt: its end first, then new output as it is written, and older parts on request. */
export class OutputSource {
  readonly state: Store<OutputState>;
  readonly #wanted: Wanted;
  readonly #abort = new AbortController();
  #isReading = false;
  #sizeSeen = 0;
  #drawTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
    const size = wanted.isLive ? (wanted.size ?? 0) : 0;
    this.state = new Store<OutputState>({
      buffer: new OutputBuffer(Math.max(0, size - readBytes)),
      size,
      isLive: wanted.isLive,
      isLoading: true,
      problem: null,
      version: 0,
      prepended: 0,
    });
  }

  start(): void {
    void (this.#wanted.isLive ? this.#follow() : this.#readEnd());
  }

  stop(): void {
    this.#abort.abort();
    clearTimeout(this.#drawTimer);
  }

  /** Reads the part before the held one, if there is one and there is room for it. */
  async readOlder(): Promise<void> {
    const { buffer } = this.state.get();
    if (this.#isReading || buffer.start === 0 || buffer.end - buffer.start >= heldBytesMax - readBytes)
      return;
    this.#isReading = true;
    try {
      const from = Math.max(0, buffer.start - readBytes);
      const bytes = await this.#range(from, buffer.start);
      this.#changed({ prepended: buffer.prepend(bytes) });
    } catch (error) {
      this.#fail(error);
    }
    this.#isReading = false;
  }

  /** Reads the part after the held one, unless that is the end of the stream. */
  async readNewer(): Promise<void> {
    const { buffer, size } = this.state.get();
    if (this.#isReading || buffer.end >= size) return;
    this.#isReading = true;
    try {
      buffer.append(await this.#range(buffer.end, Math.min(size, buffer.end + readBytes)));
      this.#changed({ prepended: 0 });
    } catch (error) {
      this.#fail(error);
    }
    this.#isReading = false;
  }

  /** Holds another part of the stream, with this offset in its middle. */
  async jumpTo(offset: number): Promise<void> {
    const { size } = this.state.get();
    const from = Math.max(0, Math.min(offset, size) - readBytes / 2);
    try {
      const buffer = new OutputBuffer(from);
      buffer.append(await this.#range(from, Math.min(size, from + readBytes)));
      this.state.set({ ...this.state.get(), buffer });
      this.#changed({ prepended: 0 });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads the end of the stream; the hub's answer has its offset. */
  async #readEnd(): Promise<void> {
    try {
      const response = await this.#openEnd();
      const [, from, size] =
        /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
      const buffer = new OutputBuffer(Number(from ?? 0));
      buffer.append(new Uint8Array(await response.arrayBuffer()));
      this.state.set({ ...this.state.get(), buffer, size: Number(size ?? buffer.end) });
      this.#changed({ prepended: 0 });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The hub refuses an empty range, which the browser reports as an error, so it is not requested. */
  async #openEnd(): Promise<Response> {
    const { size } = this.#wanted;
    if (size === 0) return new Response(new Uint8Array(0));
    if (size === null) {
      const whole = await this.#open({});
      if (Number(whole.headers.get("content-length")) <= readBytes) return whole;
      await whole.body?.cancel();
    }
    return this.#open({}, { Range: `bytes=-${readBytes}` });
  }

  /**
   * Follows the output until the attempt has ended. A stream that is cut continues where it stopped, and so does one
   * that ends before the attempt does: a hub that stops ends all of them.
   */
  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const { buffer } = this.state.get();
        const response = await this.#open({ offset: buffer.end, follow: true });
        this.state.set({ ...this.state.get(), isLoading: false });
        await this.#pump(response, buffer.end);
        if (!(await this.#isRunning())) {
          this.state.set({ ...this.state.get(), isLive: false, problem: null });
          return;
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#fail(error);
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  async #isRunning(): Promise<boolean> {
    const { jobId: id, attempt } = this.#wanted;
    const { body: job } = await callHub(pageRoutes.getJob, { params: { id } });
    return job.attempt === attempt && isActive(job.status);
  }

  /** New bytes are added while the end is held. While an earlier part is held, only the size grows. */
  async #pump(response: Response, from: number): Promise<void> {
    const reader = response.body!.getReader();
    for (let offset = from; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const { buffer } = this.state.get();
      if (buffer.end === offset) buffer.append(value);
      offset += value.length;
      this.#sizeSeen = Math.max(this.#sizeSeen, offset);
      this.#drawSoon();
    }
  }

  async #range(from: number, to: number): Promise<Uint8Array> {
    if (to <= from) return new Uint8Array(0);
    const response = await this.#open({}, { Range: `bytes=${from}-${to - 1}` });
    return new Uint8Array(await response.arrayBuffer());
  }

  async #open(
    query: { offset?: number; follow?: boolean },
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const { jobId: id, stream, attempt } = this.#wanted;
    const { path } = buildRequest(pageRoutes.readOutput, {
      params: { id, stream },
      query: { ...query, attempt },
    });
    const response = await fetch(path, {
      headers: { ...headers, ...sessionHeaders() },
      cache: "no-store",
      signal: this.#abort.signal,
    });
    if (response.ok) return response;
    // A proxy may answer with something else than the hub's JSON; then the status has to do.
    const body = (await response.json().catch(() => null)) as { error?: { message?: string } } | null;
    throw new Error(body?.error?.message ?? `the hub answered with status ${response.status}`);
  }

  #drawSoon(): void {
    this.#drawTimer ??= setTimeout(() => {
      this.#drawTimer = undefined;
      this.#changed({ prepended: 0 });
    }, drawMs);
  }

  #changed({ prepended }: { prepended: number }): void {
    const { buffer, size, version, ...rest } = this.state.get();
    this.state.set({
      ...rest,
      buffer,
      size: Math.max(size, this.#sizeSeen, buffer.end),
      isLoading: false,
      problem: null,
      version: version + 1,
      prepended,
    });
  }

  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.state.set({ ...this.state.get(), problem: error instanceof Error ? error.message : String(error) });
  }
}
