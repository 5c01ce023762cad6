import {
  buildRequest,
  JsonText,
  type RouteInput,
  type RouteRequest,
} from "../contract/routes/build-request.ts";
import { fileRoutes } from "../contract/routes/file-routes.ts";
import { type Received, refusalOf } from "../contract/routes/read-answer.ts";
import type { Route } from "../contract/routes/route.ts";
import { putUrls } from "../contract/shapes/storage-shapes.ts";
import { isRetryable, WritError } from "../core/errors.ts";
import { tryParseJson } from "../core/text/json-value.ts";
import { backOffMs } from "../runtime/clock/back-off.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import { createHttpClient, type HttpClient } from "../runtime/http/http-client.ts";
import { parseHubAddress } from "../runtime/hubs/hub-address.ts";
import { isWritToken } from "../signing/job-token.ts";
import type { PresignedUrl, TransferDeps } from "../transfer/transfer-deps.ts";
import { TransferFailure } from "../transfer/transfer-failure.ts";
import type { ReadPayload } from "./read-payload.ts";
import type { FinishedJob } from "./run-job.ts";

const callMs = 30_000;
/** While a platform is away, as long as a worker keeps its jobs; for a job that was stopped, only a few times. */
const awayMs = 600_000;
const triesMax = 5;
const pauses = { firstMs: 200, maxMs: 5_000 };

type PlatformOptions = {
  /** Gives a token that came after the payload. */
  newest: () => string | undefined;
  stop: AbortSignal;
  allowInsecure: boolean;
};

/**
 * The hub that gave out a job, as far as the job's own token reaches: it accepts reports of start and end, and files.
 * It is a hub of Writ or anybody else's program with the same three routes. Such a program need not know more than
 * their fields, so what only a hub uses is sent to a hub alone.
 */
export class Platform {
  readonly #clock: Clock;
  readonly #payload: ReadPayload;
  readonly #url: URL;
  readonly #token: () => string;
  readonly #options: PlatformOptions;

  /** Null for a job that is not reported to a hub. */
  static of(clock: Clock, payload: ReadPayload, options: PlatformOptions): Platform | null {
    const { platform_url: address, job_token: token } = payload;
    if (address === undefined && token === undefined) return null;
    if (address === undefined || token === undefined) {
      throw new WritError(
        "INVALID_ARGUMENT",
        "payload: platform_url and job_token are given together or not at all",
      );
    }
    return new Platform(clock, payload, { url: originOf(address, options), token, options });
  }

  private constructor(
    clock: Clock,
    payload: ReadPayload,
    { url, token, options }: { url: URL; token: string; options: PlatformOptions },
  ) {
    this.#clock = clock;
    this.#payload = payload;
    this.#url = url;
    this.#token = () => options.newest() ?? token;
    this.#options = options;
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
    const more = this.#isHub ? { exit_code } : {};
    const head = JSON.stringify({ success, error, ...more, outputFiles }).slice(0, -1);
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
    const { folderId, objectKey, size, sha256 } = file;
    const more = this.#isHub ? { size, sha256 } : {};
    try {
      const params = { id: this.#payload.job_id };
      const body = [{ folderId, objectKey, method: "PUT" as const, ...more }];
      const answer = await this.#call(fileRoutes.presignByToken, { params, body });
      const { data } = putUrls.safeParse(tryParseJson(answer.text()));
      if (data !== undefined) return data.urls[0];
      throw new TransferFailure("refused", 'the platform answered without {"urls": [{"url": …}]}');
    } catch (error) {
      if (!(error instanceof WritError)) throw error;
      throw new TransferFailure("refused", `${error.code}: ${error.message}`);
    }
  }

  /** Whether a hub of Writ made the token, and so will read what comes with it. */
  get #isHub(): boolean {
    return isWritToken(this.#token());
  }

  get transfer(): TransferDeps {
    return { ca: this.#payload.ca, clock: this.#clock, random: Math.random };
  }

  /**
   * Tries again while the platform is away. Every 2xx is a success, whatever its body; redirects are never followed.
   */
  async #call<R extends Route>(route: R, input: RouteInput<R>): Promise<Received> {
    const client = createHttpClient({
      baseUrls: [this.#url.origin],
      token: this.#token(),
      ca: this.#payload.ca,
      allowInsecure: this.#options.allowInsecure,
    });
    const endsAtMs = this.#clock.monotonicMs() + awayMs;
    const isOver = (tries: number): boolean =>
      this.#options.stop.aborted ? tries >= triesMax : this.#clock.monotonicMs() >= endsAtMs;
    const request = buildRequest(route, input);
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await successOf(client, request);
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

async function successOf(client: HttpClient, request: RouteRequest): Promise<Received> {
  const response = await client.request({ ...request, timeoutMs: callMs });
  if (response.status >= 200 && response.status < 300) return response;
  throw refusalOf(response);
}

/** Only an origin: a token must not be sent unencrypted to another machine, nor below a path that somebody chose. */
function originOf(address: string, { allowInsecure }: Pick<PlatformOptions, "allowInsecure">): URL {
  const url = parseHubAddress(address, { allowInsecure });
  if (url.pathname === "/") return url;
  throw new WritError(
    "INVALID_ARGUMENT",
    `payload.platform_url: ${url.origin}${url.pathname} has a path; use ${url.origin}`,
  );
}
