import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { sendReply } from "./reply.ts";

/** The head of the answer to a request, as it is sent. */
async function headOf(request: string): Promise<string> {
  const reply = { status: 200, headers: {}, body: "{}" };
  const server = createServer((_incoming, outgoing) => sendReply(outgoing, reply));
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write(request);
  for await (const bytes of socket) return String(bytes).split("\r\n\r\n")[0]!;
  throw new Error("the server hung up");
}

test("an answer to an HTTP/1.1 client has Keep-Alive and no Connection header", async () => {
  const head = await headOf("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(head).toMatch(/^Keep-Alive: timeout=75$/m);
  expect(head).not.toMatch(/^Connection:/m);
});

test("a client that closes its connection, or speaks HTTP/1.0, still gets a Connection header", async () => {
  expect(await headOf("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).toMatch(
    /^Connection: close$/m,
  );
  const old = await headOf("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  expect(old).toMatch(/^Connection: keep-alive$/m);
});
