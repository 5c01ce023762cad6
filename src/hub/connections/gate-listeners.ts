import type { Server, Socket } from "node:net";

/** Puts a check before a server's listeners for an event: they receive only the sockets that it admits. */
export function gateListeners<S extends Socket>(
  server: Server,
  event: "connection" | "secureConnection",
  admits: (socket: S) => boolean,
): void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, (socket: S) => {
    if (!admits(socket)) return;
    for (const listener of listeners) listener.call(server, socket);
  });
}
