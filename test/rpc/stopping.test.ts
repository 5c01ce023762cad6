import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { startRpcHub } from "./rpc-hub.ts";

test("clients that read nothing, or never begin to speak TLS, do not hold up a hub that stops", async () => {
  const hub = await startRpcHub();
  const deaf = connect({
    port: hub.grpcPort,
    host: "127.0.0.1",
    servername: "localhost",
    ca: hub.ca,
    ALPNProtocols: ["h2"],
    ...hub.root,
  });
  const mute = connectTcp({ port: hub.grpcPort, host: "127.0.0.1" });
  for (const socket of [deaf, mute]) {
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  }
  await once(mute, "connect");
  // The server's first frame is there, and the client does not read it.
  await once(deaf, "readable");
  await hub.stop();
  await expect(fetch(`http://127.0.0.1:${hub.port}/healthz`)).rejects.toThrow();
});
