import type { HubTls } from "./certs/hub-tls.ts";
import { noteAddressLimit } from "./connections/note-address-limit.ts";
import type { HubDeps } from "./deps.ts";
import { createApp } from "./http/app.ts";
import { OpenBodies } from "./http/bodies/open-bodies.ts";
import { createListener } from "./http/listener.ts";
import { HttpServer } from "./http/server.ts";
import { OpenStreams } from "./http/streams/open-streams.ts";
import { OpenWires } from "./http/wire/open-wires.ts";
import { RpcServer } from "./rpc/server.ts";

export type Ports = {
  http: HttpServer;
  wires: OpenWires;
  rpc: RpcServer;
  streams: OpenStreams;
  bodies: OpenBodies;
};

/** What answers calls over HTTP, in frames and over gRPC. Nothing listens before it is started. */
export function openPorts(deps: HubDeps, { own, given, clientAuthorities }: HubTls): Ports {
  const streams = new OpenStreams(deps.clock, (error) =>
    deps.failures.error(error, "an open stream could not be checked"),
  );
  const bodies = new OpenBodies(deps.clock, (error) =>
    deps.failures.error(error, "an unfinished body could not be checked"),
  );
  const httpDeps = { ...deps, streams, bodies };
  const app = createApp(httpDeps);
  const listener = createListener(httpDeps, app);
  const wires = new OpenWires(httpDeps, app);
  const onAddressLimit = noteAddressLimit(deps, "HTTP");
  const http = new HttpServer(listener, { ...deps, onAddressLimit, upgrades: wires }, given ?? own);
  const rpc = new RpcServer(deps, { pair: own, clientAuthorities });
  return { http, wires, rpc, streams, bodies };
}
