import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers small calls, and /large with as many bytes as its argument says. Tells its parent the port. */
const small = Buffer.alloc(300, "a");
const piece = Buffer.alloc(256 * 1024);
const largeBytes = Number(process.argv[2]);

const server = createServer((request, response) => {
  request.resume();
  if (request.url !== "/large") {
    request.once("end", () => response.writeHead(200, { "content-length": small.length }).end(small));
    return;
  }
  response.writeHead(200, { "content-length": largeBytes });
  let left = largeBytes;
  const send = (): void => {
    while (left > 0) {
      left -= piece.length;
      if (!response.write(piece)) return void response.once("drain", send);
    }
    response.end();
  };
  send();
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
