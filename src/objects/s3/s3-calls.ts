import { AwsV4Signer } from "aws4fetch";
import { WritError } from "../../core/errors.ts";
import { backOffMs } from "../../runtime/clock/back-off.ts";
import type { Clock } from "../../runtime/clock/clock.ts";
import { objectUrl, type S3Settings } from "./s3-settings.ts";

export type S3Request = {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
};

/** How long a store may take until its answer begins. `fetch` itself ends a body that is silent for as long. */
const answerMs = 300_000;
const triesMax = 3;
const pause = { firstMs: 100, maxMs: 2_000 };
const errorCharsMax = 64 * 1024;

/**
 * The calls of an S3-compatible store: those that the hub makes itself, and URLs with which others make them.
 * Why: ADR 0041.
 */
export class S3Calls {
  readonly #settings: S3Settings;
  readonly #clock: Clock;
  /** Keys that are derived from the secret, by day. */
  readonly #derived = new Map<string, ArrayBuffer>();

  constructor(settings: S3Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** A URL for one call. The caller must send exactly these headers. */
  async presign(request: S3Request, expiresInSec: number): Promise<string> {
    const url = this.#urlOf({
      ...request,
      query: { ...request.query, "X-Amz-Expires": String(expiresInSec) },
    });
    const signed = await this.#sign({ ...request, url, signQuery: true });
    return spelledOut(signed.url);
  }

  /**
   * The answer to a call, with any status below 500. A store that is away or overloaded is asked again; after the
   * last try it is FILES_UNAVAILABLE. A redirect is not followed: it would take the signature elsewhere.
   */
  async call(request: S3Request): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#try(request).catch((error: unknown) => asError(error));
      if (answer instanceof Response && answer.status < 500 && answer.status !== 429) return answer;
      if (tries >= triesMax) {
        if (answer instanceof Response) throw await refusal(request, answer);
        throw unavailable(request, answer.message);
      }
      if (answer instanceof Response) await answer.body?.cancel();
      await this.#clock.sleep(backOffMs(tries, pause));
    }
  }

  /** The same for a call that must succeed. */
  async must(request: S3Request): Promise<Response> {
    const answer = await this.call(request);
    if (!answer.ok) throw await refusal(request, answer);
    return answer;
  }

  async #try(request: S3Request): Promise<Response> {
    const signed = await this.#sign({ ...request, url: this.#urlOf(request), signQuery: false });
    const late = new AbortController();
    const timer = this.#clock.setTimer(() => late.abort(new Error("no answer in time")), answerMs);
    try {
      return await fetch(signed.url, {
        method: request.method,
        headers: signed.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        redirect: "manual",
        signal: late.signal,
      });
    } finally {
      // A body has no such limit: to read a file of terabytes once takes hours.
      timer.cancel();
    }
  }

  #urlOf({ key, query = {} }: S3Request): URL {
    const url = objectUrl(this.#settings, key);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url;
  }

  #sign({ method, url, headers = {}, signQuery }: S3Request & { url: URL; signQuery: boolean }) {
    const { accessKey: accessKeyId, secretKey: secretAccessKey, region } = this.#settings;
    const datetime = new Date(this.#clock.nowMs()).toISOString().replace(/[:-]|\.\d{3}/g, "");
    const who = { accessKeyId, secretAccessKey, region, service: "s3", cache: this.#derived, datetime };
    return new AwsV4Signer({ ...who, method, url: url.href, headers, signQuery, allHeaders: true }).sign();
  }
}

/** As it was signed: a plus sign in a query means a space to some servers and a plus sign to others. */
function spelledOut(url: URL): string {
  return url.href.replaceAll("+", "%20");
}

function asError(error: unknown): Error {
  return error instanceof Error ? ((error.cause as Error | undefined) ?? error) : new Error(String(error));
}

/** The store's own code and words, for the log. */
async function refusal(request: S3Request, answer: Response): Promise<WritError> {
  // A response whose body breaks off still has its status.
  const text = (await answer.text().catch(() => "")).slice(0, errorCharsMax);
  const code = fieldOf(text, "Code") ?? "";
  return unavailable(request, `${answer.status} ${code} ${fieldOf(text, "Message") ?? ""}`.trim());
}

export function unavailable({ method, key }: Pick<S3Request, "method" | "key">, reason: string): WritError {
  const message = "the hub cannot use its object store; its log says why";
  return new WritError("FILES_UNAVAILABLE", message, { call: `${method} ${key}`, reason });
}

/** One field of an answer in XML. The few that are read contain no other fields. */
export function fieldOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text
    ?.replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
