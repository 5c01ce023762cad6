import type { OutputStream } from "../../core/jobs/output-stream.ts";
import type { OptionNames } from "../../runtime/check-options.ts";
import type { HubCaller } from "../hub/hub-caller.ts";
import { outputOverHttp } from "./output-over-http.ts";
import { streamAttempts } from "./stream-attempts.ts";

export type StreamOutputOptions = {
  stream?: OutputStream | undefined;
  offset?: number | undefined;
  /** Default: the latest attempt. */
  attempt?: number | undefined;
  /** Whether to follow until the attempt has ended (default: true). */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** The names of `StreamOutputOptions`. */
export const streamOutputOptions: OptionNames<StreamOutputOptions> = {
  stream: true,
  offset: true,
  attempt: true,
  follow: true,
  signal: true,
};

/** The bytes of one attempt's output, each exactly once, even across broken connections. */
export async function* streamOutput(
  hub: HubCaller,
  jobId: string,
  options: StreamOutputOptions,
): AsyncGenerator<Buffer> {
  for await (const { data } of streamAttempts(outputOverHttp(hub, jobId), options))
    yield Buffer.from(data.buffer, data.byteOffset, data.length);
}
