import { createReadStream, readFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadPackageDefinition, Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

/**
 * Other servers for the same file, certificates, windows and chunks, each in a process of its own:
 * `node bench/_stream-server.ts grpc-js|raw CERTS FILE`. Prints its port.
 */
const [, , kind = "", certs = "", file = ""] = process.argv;
const readBytes = 256 * 1024;
const chunkBytes = 32 * 1024;
const windowBytes = 1024 * 1024;

const read = (name: string) => readFileSync(join(certs, name));
const tls = {
  cert: read("server.crt"),
  key: read("server.key"),
  ca: read("ca.crt"),
  requestCert: true,
  rejectUnauthorized: true,
  minVersion: "TLSv1.3" as const,
};
const settings = { initialWindowSize: windowBytes };
const protoFile = join(import.meta.dirname, "../proto/writ/v1/job_service.proto");

console.log(await { "grpc-js": startGrpcJs, raw: startRaw }[kind]!());

async function* chunks(): AsyncGenerator<{ data: Buffer; offset: number; attempt: number }> {
  let offset = 0;
  for await (const piece of createReadStream(file, { highWaterMark: readBytes })) {
    for (let at = 0; at < piece.length; at += chunkBytes) {
      const data = piece.subarray(at, at + chunkBytes);
      yield { data, offset, attempt: 1 };
      offset += data.length;
    }
  }
}

function startGrpcJs(): Promise<number> {
  const definition = loadPackageDefinition(
    loadSync(protoFile, { keepCase: true, longs: Number }),
  ) as never as {
    writ: { v1: { JobService: { service: never } } };
  };
  const server = new Server({ "grpc-node.flow_control_window": windowBytes });
  server.addService(definition.writ.v1.JobService.service, {
    async StreamOutput(call: ServerWritableStream<unknown, unknown>) {
      for await (const message of chunks()) {
        if (!call.write(message)) await new Promise((resolve) => call.once("drain", resolve));
      }
      call.end();
    },
  } as never);
  const pairs = [{ cert_chain: tls.cert, private_key: tls.key }];
  const credentials = ServerCredentials.createSsl(tls.ca, pairs, true);
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, port) => (error ? reject(error) : resolve(port))),
  );
}

async function startRaw(): Promise<number> {
  const server = createSecureServer({ ...tls, settings });
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 200 });
    createReadStream(file, { highWaterMark: readBytes }).pipe(stream);
  });
  return listen(server);
}

function listen(server: ReturnType<typeof createSecureServer>): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
}
