import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runHub } from "./run-hub.ts";

export function define(command: Command, context: CliContext): void {
  command
    .option("--port <n>", "the port for HTTP; 0 takes any (PORT)")
    .option("--grpc-port <n>", "the port for gRPC; 0 takes any (WRIT_GRPC_PORT)")
    .action(() => {
      const { home, port, grpcPort } = command.optsWithGlobals<HubFlags>();
      return runHub(context, { homeFlag: home, flags: { port, grpcPort }, withWorker: false });
    });
}

type HubFlags = { home?: string; port?: string; grpcPort?: string };
