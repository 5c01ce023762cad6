import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A connection to a hub that a test can cut, freeze and mend, while the hub continues for all others. */
export type Cable = {
  url: string;
  /** Ends every connection, and each new one at once. */
  cut(): void;
  /** Passes on nothing more, and accepts new connections all the same. */
  freeze(): void;
  mend(): void;
  stop(): Promise<void>;
};

export async function startCable(hubPort: number): Promise<Cable> {
  let state: "whole" | "cut" | "frozen" = "whole";
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on("error", () => {});
    return socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (state === "cut") return near.destroy();
    if (state === "frozen") return near.pause();
    const far = keep(connect(hubPort, "127.0.0.1"));
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.pipe(far).pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const cut = (): void => {
    state = "cut";
    endAll();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    freeze() {
      state = "frozen";
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend() {
      // What was frozen has lost its place in the stream of bytes.
      if (state === "frozen") endAll();
      state = "whole";
    },
    async stop() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
