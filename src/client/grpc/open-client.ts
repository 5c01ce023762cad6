import type { ClientHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { jobMethods } from "../../contract/job-wire.ts";
import type { RpcTarget } from "./find-rpc.ts";
import { type Exchange, exchange } from "./grpc-exchange.ts";
import type { CallLimits, OpenClient, RpcClient } from "./rpc-connection.ts";
import { decodeMessage, encodeMessage, type Plain } from "./wire-message.ts";

// A connection that has been silent for this long is pinged, and given up if there is no answer: otherwise a stream of
// a silent job would wait for ever on a machine that was switched off.
const pingMs = 20_000;
const pingAnswerMsMax = 10_000;
// How much may be in flight to us: on a fast connection with high latency, less would slow down an output.
const windowBytes = 8 * 1024 * 1024;

/**
 * gRPC over TLS 1.3 with a client certificate. Nothing is compressed, because the network is rarely the slow part.
 * Frames and messages are ours and not the libraries': their transport loads the platform's fetch, and their messages
 * begin with descriptors, and each of these takes a short command as long as everything else.
 */
export function openClient({ host, port, ca, cert, key }: RpcTarget): OpenClient {
  const sessions = new WideSessions(
    `https://${host}:${port}`,
    { pingIntervalMs: pingMs, pingTimeoutMs: pingAnswerMsMax },
    { ca, cert, key, minVersion: "TLSv1.3", settings: { initialWindowSize: windowBytes } },
  );
  return { client: createClient(sessions), close: () => sessions.abort(new Error("closed")) };
}

/** Every method of the table; the table and the type agree on which message belongs to which method. */
function createClient(sessions: Http2SessionManager): RpcClient {
  const { streamOutput, ...others } = jobMethods;
  const calls = Object.entries(others).map(([name, { path, input, output }]) => {
    const call = async (request: object, limits: CallLimits): Promise<Plain> => {
      const message = encodeMessage(input, request as Plain);
      return decodeMessage(output, await onlyAnswer(exchange(sessions, { path, message, ...limits })));
    };
    return [name, call];
  });
  return { ...Object.fromEntries(calls), streamOutput: stream } as RpcClient;

  async function* stream(request: object, limits: CallLimits): AsyncGenerator<Plain> {
    const { path, input, output } = streamOutput;
    const call: Exchange = { path, message: encodeMessage(input, request as Plain), ...limits };
    for await (const answer of exchange(sessions, call)) yield decodeMessage(output, answer);
  }
}

async function onlyAnswer(answers: AsyncGenerator<Buffer>): Promise<Buffer> {
  const { value: first } = await answers.next();
  if (first === undefined) throw new ConnectError("a response without a message", Code.Internal);
  // The status follows the message, and decides whether it is valid.
  await answers.next();
  return first;
}

/** Widens the window of each connection; the settings above concern only its streams. */
class WideSessions extends Http2SessionManager {
  readonly #widened = new WeakSet<object>();

  override async request(...args: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    const { session } = stream;
    if (session !== undefined && !this.#widened.has(session)) {
      this.#widened.add(session);
      session.setLocalWindowSize(windowBytes);
    }
    return stream;
  }
}
