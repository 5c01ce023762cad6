import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A connection to a hub that breaks in the middle of something large. */
export type BrokenCable = {
  url: string;
  /** The next connection that carries this many bytes in one direction is cut there; then the same with the next number. */
  cutAfter(...bytes: number[]): void;
  /** The next connection that carries this many bytes in one direction passes on nothing more. */
  holdAfter(bytes: number): void;
  /** Resolves when a connection is held. */
  readonly held: Promise<void>;
  /** How often it has been cut. */
  readonly cuts: number;
  stop(): Promise<void>;
};

export async function startBrokenCable(hubPort: number): Promise<BrokenCable> {
  let limits: number[] = [];
  let holdAt = Number.POSITIVE_INFINITY;
  const held = Promise.withResolvers<void>();
  let cuts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(hubPort, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      let bytes = 0;
      from.on("error", () => {});
      from.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes >= holdAt) {
          holdAt = Number.POSITIVE_INFINITY;
          from.unpipe(to);
          from.pause();
          held.resolve();
        }
        if (limits[0] === undefined || bytes < limits[0]) return;
        limits.shift();
        cuts++;
        near.destroy();
        far.destroy();
      });
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter(...bytes) {
      limits = bytes;
    },
    holdAfter(bytes) {
      holdAt = bytes;
    },
    held: held.promise,
    get cuts() {
      return cuts;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
