import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { runHub } from "./run-hub.ts";

export function define(command: Command, context: CliContext): void {
  command
    .option("--port <n>", "port for HTTP; 0 picks a free one (PORT; default: 3000)")
    .option("--grpc-port <n>", "port for gRPC; 0 picks a free one (WRIT_GRPC_PORT; default: 50051)")
    .option("--no-worker", "run only the hub")
    .action(() => {
      const { home, port, grpcPort, worker } = command.optsWithGlobals<UpFlags>();
      return runHub(context, { homeFlag: home, flags: { port, grpcPort }, withWorker: worker !== false });
    });
}

type UpFlags = { home?: string; port?: string; grpcPort?: string; worker?: false };
