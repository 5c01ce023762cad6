import type { ClientHttp2Stream } from "node:http2";
import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, type DescMessage, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { Http2SessionManager } from "@connectrpc/connect-node";
import type { RpcPlace } from "./find-rpc.ts";
import { type Exchange, exchange } from "./grpc-exchange.ts";
import type { OpenTransport } from "./rpc-connection.ts";

// A connection that has said nothing for this long is asked, and given up when it does not answer: a stream of a
// silent job would otherwise wait for ever on a machine that was switched off.
const PING_MS = 20_000;
const PING_ANSWER_MS_MAX = 10_000;
// So much may be under way to us: on a fast line with a long way, less would hold an output back.
const WINDOW_BYTES = 8 * 1024 * 1024;

/**
 * gRPC over TLS 1.3 with a client certificate. Nothing is compressed: the line is rarely the slow part. The frames are
 * ours and not the library's, because its own transport loads what the platform has for fetch, and that alone takes
 * a short command as long as all the rest.
 */
export function openTransport({ host, port, ca, cert, key }: RpcPlace): OpenTransport {
  const sessions = new WideSessions(
    `https://${host}:${port}`,
    { pingIntervalMs: PING_MS, pingTimeoutMs: PING_ANSWER_MS_MAX },
    { ca, cert, key, minVersion: "TLSv1.3", settings: { initialWindowSize: WINDOW_BYTES } },
  );
  return { transport: createTransport(sessions), close: () => sessions.abort(new Error("closed")) };
}

function createTransport(sessions: Http2SessionManager): Transport {
  return {
    async unary(method, signal, timeoutMs, _header, input) {
      const answers = exchange(sessions, callOf(method, input, { signal, timeoutMs }));
      const { value: first } = await answers.next();
      if (first === undefined) throw new ConnectError("an answer without a message", Code.Internal);
      // The status comes behind the message, and decides whether it counts.
      await answers.next();
      const message = fromBinary(method.output, first);
      return answer({ stream: false as const, service: method.parent, method, message });
    },
    async stream(method, signal, timeoutMs, _header, input) {
      let request: MessageInitShape<typeof method.input> | undefined;
      for await (const message of input) request = message;
      const answers = exchange(sessions, callOf(method, request!, { signal, timeoutMs }));
      const message = decoded(method.output, answers);
      return answer({ stream: true as const, service: method.parent, method, message });
    },
  };
}

/** Nobody here reads metadata, and making it at once would load what this transport is there to avoid. */
function answer<T extends object>(parts: T): T & { header: Headers; trailer: Headers } {
  const none = { enumerable: true, get: () => new Headers() };
  return Object.defineProperties(parts, { header: none, trailer: none }) as T & {
    header: Headers;
    trailer: Headers;
  };
}

function callOf<I extends DescMessage>(
  method: DescMethod & { input: I },
  input: MessageInitShape<I>,
  limits: Pick<Exchange, "signal" | "timeoutMs">,
): Exchange {
  const message = create(method.input, input);
  return {
    ...limits,
    path: `/${method.parent.typeName}/${method.name}`,
    message: toBinary(method.input, message),
  };
}

async function* decoded<O extends DescMessage>(
  output: O,
  answers: AsyncIterable<Uint8Array>,
): AsyncGenerator<MessageShape<O>> {
  for await (const bytes of answers) yield fromBinary(output, bytes);
}

/** Widens the window of each connection; the settings above are about its streams only. */
class WideSessions extends Http2SessionManager {
  readonly #widened = new WeakSet<object>();

  override async request(...args: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    const { session } = stream;
    if (session !== undefined && !this.#widened.has(session)) {
      this.#widened.add(session);
      session.setLocalWindowSize(WINDOW_BYTES);
    }
    return stream;
  }
}
