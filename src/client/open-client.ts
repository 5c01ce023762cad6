import type { ClientHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";
import { jobMethods } from "../contract/job-wire.ts";
import type { RpcTarget } from "./find-rpc.ts";
import { type Exchange, exchange } from "./grpc-exchange.ts";
import type { CallLimits, OpenClient, RpcClient } from "./rpc-connection.ts";
import { decodeMessage, encodeMessage, type Plain } from "./wire-message.ts";

// A connection that has said nothing for this long is asked, and given up when it does not answer: a stream of a
// silent job would otherwise wait for ever on a machine that was switched off.
const pingMs = 20_000;
const pingAnswerMsMax = 10_000;
// So much may be under way to us: on a fast line with a long way, less would hold an output back.
const windowBytes = 8 * 1024 * 1024;

/**
 * gRPC over TLS 1.3 with a client certificate. Nothing is compressed: the line is rarely the slow part. Frames and
 * messages are ours and not the libraries': a transport of theirs loads what the platform has for fetch, and their
 * messages begin with descriptors, and either takes a short command as long as all the rest.
 */
export function openClient({ host, port, ca, cert, key }: RpcTarget): OpenClient {
  const sessions = new WideSessions(
    `https://${host}:${port}`,
    { pingIntervalMs: pingMs, pingTimeoutMs: pingAnswerMsMax },
    { ca, cert, key, minVersion: "TLSv1.3", settings: { initialWindowSize: windowBytes } },
  );
  return { client: createClient(sessions), close: () => sessions.abort(new Error("closed")) };
}

/** Every method of the table; which message belongs to which is what the table and the type agree on. */
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
  if (first === undefined) throw new ConnectError("an answer without a message", Code.Internal);
  // The status comes behind the message, and decides whether it counts.
  await answers.next();
  return first;
}

/** Widens the window of each connection; the settings above are about its streams only. */
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
