import { addConnectionOptions } from "../connection-options.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { type ProgramShape, runProgram } from "../program.ts";

const writShape: ProgramShape = {
  name: "writ",
  summary: "Run a hub and its workers.",
  addOptions: addConnectionOptions,
  commands: {
    up: { summary: "run a hub with a worker on this machine", load: () => import("./up.ts") },
    hub: { summary: "run a hub alone", load: () => import("./hub.ts") },
    worker: { summary: "run a worker alone", load: () => import("./worker.ts") },
    workers: { summary: "enrol workers of other machines", load: () => import("./workers.ts") },
    tokens: { summary: "issue, list and revoke tokens", load: () => import("./tokens.ts") },
    certs: { summary: "issue, list, renew and revoke certificates", load: () => import("./certs.ts") },
    keys: { summary: "list, rotate, revoke and export the signing keys", load: () => import("./keys.ts") },
    audit: { summary: "check the audit trail", load: () => import("./audit.ts") },
    backup: {
      summary: "write database, keys and certificates into one file",
      load: () => import("./backup.ts"),
    },
    restore: { summary: "make a home out of a backup", load: () => import("./restore.ts") },
    lockdown: {
      summary: "lock the hub, lift it, or show why it is locked",
      load: () => import("./lockdown.ts"),
    },
    doctor: { summary: "check this machine and its hub", load: () => import("./doctor.ts") },
  },
};

export async function runWrit(context: CliContext): Promise<number> {
  try {
    return await runProgram(context, writShape);
  } catch (error) {
    return reportError(context, error);
  }
}
