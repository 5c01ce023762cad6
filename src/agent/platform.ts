import { JsonText, type RouteInput } from "../contract/build-request.ts";
import { callRoute } from "../contract/call-route.ts";
import { fileRoutes } from "../contract/file-routes.ts";
import type { RouteAnswer } from "../contract/read-answer.ts";
import type { Route } from "../contract/route.ts";
import { isRetryable, WritError } from "../core/errors.ts";
import { backOffMs } from "../runtime/back-off.ts";
import type { Clock } from "../runtime/clock.ts";
import { createHttpClient } from "../runtime/http-client.ts";
import { parseHubAddress } from "../runtime/hub-address.ts";
import type { PresignedUrl, TransferDeps } from "../transfer/transfer-deps.ts";
import { TransferFailure } from "../transfer/transfer-failure.ts";
import type { ReadPayload } from "./read-payload.ts";
import type { FinishedJob } from "./run-job.ts";

const callMs = 30_000;
/** While a hub is away, as long as a worker keeps its jobs; for a job that was stopped, only a few times. */
const awayMs = 600_000;
const triesMax = 5;
const pauses = { firstMs: 200, maxMs: 5_000 };

/** The hub that gave out a job, as far as the job's own token reaches: it is told of the start and the end, and takes files. */
export class Platform {
  readonly #clock: Clock;
  readonly #payload: ReadPayload;
  readonly #url: URL;
  readonly #token: () => string;
  readonly #stop: AbortSignal;

  /** Null for a job that no hub is to be told of. `newest` gives a token that came after the payload. */
  static of(
    clock: Clock,
    payload: ReadPayload,
    { newest, stop }: { newest: () => string | undefined; stop: AbortSignal },
  ): Platform | null {
    const { platform_url: address, job_token: token } = payload;
    if (address === undefined && token === undefined) return null;
    if (address === undefined || token === undefined) {
      throw new WritError(
        "INVALID_ARGUMENT",
        "payload: platform_url and job_token are given together or not at all",
      );
    }
    return new Platform(clock, payload, { url: originOf(address), token: () => newest() ?? token, stop });
  }

  private constructor(
    clock: Clock,
    payload: ReadPayload,
    hub: { url: URL; token: () => string; stop: AbortSignal },
  ) {
    this.#clock = clock;
    this.#payload = payload;
    this.#url = hub.url;
    this.#token = hub.token;
    this.#stop = hub.stop;
  }

  async start(): Promise<void> {
    if (this.#payload.report === false) return;
    await this.#call(fileRoutes.startByToken, { params: { id: this.#payload.job_id }, body: {} });
  }

  async complete({ report, resultJson }: FinishedJob): Promise<void> {
    if (this.#payload.report === false) return;
    const { success, error, exit_code, output_files = [] } = report;
    const outputFiles = output_files.map(({ folder_id, object_key }) => ({
      folderId: folder_id,
      objectKey: object_key,
    }));
    const head = JSON.stringify({ success, error, exit_code, outputFiles }).slice(0, -1);
    const body = new JsonText(`${head}${resultJson === undefined ? "" : `,"result":${resultJson}`}}`);
    await this.#call(fileRoutes.completeByToken, { params: { id: this.#payload.job_id }, body });
  }

  /** A fresh URL to put a file. A refusal of this file alone is a TransferFailure. */
  async urlFor(file: {
    folderId: string;
    objectKey: string;
    size: number;
    sha256: string;
  }): Promise<PresignedUrl> {
    try {
      const params = { id: this.#payload.job_id };
      const answer = await this.#call(fileRoutes.presignByToken, {
        params,
        body: [{ ...file, method: "PUT" }],
      });
      return answer.body.urls[0]!;
    } catch (error) {
      if (!(error instanceof WritError)) throw error;
      throw new TransferFailure("refused", `${error.code}: ${error.message}`);
    }
  }

  get transfer(): TransferDeps {
    return { ca: this.#payload.ca, clock: this.#clock, random: Math.random };
  }

  /** Again while the hub is away; redirects are never followed. */
  async #call<R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>> {
    const { ca } = this.#payload;
    const client = createHttpClient({
      baseUrls: [this.#url.origin],
      token: this.#token(),
      ca,
      allowInsecure: false,
    });
    const endsAtMs = this.#clock.monotonicMs() + awayMs;
    const isOver = (tries: number): boolean =>
      this.#stop.aborted ? tries >= triesMax : this.#clock.monotonicMs() >= endsAtMs;
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await callRoute(
            (request) => client.request({ ...request, timeoutMs: callMs }),
            route,
            input,
          );
        } catch (error) {
          if (!isRetryable(error) || isOver(tries)) throw error;
          await this.#clock.sleep(backOffMs(tries - 1, pauses));
        }
      }
    } finally {
      client.close();
    }
  }
}

/** Only an origin: a token must not be sent unencrypted to another machine, nor below a path that somebody chose. */
function originOf(address: string): URL {
  const url = parseHubAddress(address, { allowInsecure: false });
  if (url.pathname === "/") return url;
  throw new WritError(
    "INVALID_ARGUMENT",
    `payload.platform_url: ${url.origin}${url.pathname} has a path; use ${url.origin}`,
  );
}
