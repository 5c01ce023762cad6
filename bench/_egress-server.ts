import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

/** Sends as many bytes as it is told over TLS, for bench/egress.ts. Its arguments: bytes, and the files of key and certificate. */
const [, , bytesText, keyFile, certFile] = process.argv;
const piece = Buffer.alloc(256 * 1024, "x");

const server = createServer(
  { key: readFileSync(keyFile!), cert: readFileSync(certFile!) },
  (_request, response) => {
    let left = Number(bytesText);
    response.writeHead(200, { "content-length": left });
    const send = (): void => {
      while (left > 0) {
        const next = piece.subarray(0, Math.min(left, piece.length));
        left -= next.length;
        if (!response.write(next)) return void response.once("drain", send);
      }
      response.end();
    };
    send();
  },
);
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
