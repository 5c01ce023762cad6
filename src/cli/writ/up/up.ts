import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { acceptLossOption, runHub } from "./run-hub.ts";

export function define(command: Command, context: CliContext): void {
  command
    .option("--port <n>", "port for HTTP; 0 picks a free one (PORT; default: 3000)")
    .option("--grpc-port <n>", "port for gRPC; 0 picks a free one (WRIT_GRPC_PORT; default: 50051)")
    .option(...acceptLossOption)
    .option("--no-worker", "run only the hub")
    .action(({ port, grpcPort, worker, acceptLoss }: UpFlags) =>
      runHub(context, { command, flags: { port, grpcPort }, acceptLoss, withWorker: worker !== false }),
    );
}

type UpFlags = { port?: string; grpcPort?: string; acceptLoss?: number; worker?: false };
