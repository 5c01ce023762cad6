import { addCertificateOptions, addConnectionOptions } from "../connection/connection-options.ts";
import type { CliContext } from "../context.ts";
import { reportError } from "../exit.ts";
import { type ProgramShape, runProgram } from "../program.ts";

export const writShape: ProgramShape = {
  name: "writ",
  summary: "Run a hub and its workers.",
  addOptions(program) {
    addConnectionOptions(program);
    addCertificateOptions(program);
  },
  commands: {
    up: {
      summary: "run a hub with a worker on this machine",
      needs: "server",
      load: () => import("./up/up.ts"),
    },
    hub: { summary: "run a hub alone", needs: "server", load: () => import("./up/hub.ts") },
    worker: { summary: "run a worker alone", needs: "server", load: () => import("./up/worker.ts") },
    open: { summary: "open the dashboard in a browser, logged in", load: () => import("./up/open.ts") },
    workers: {
      summary: "add, list, drain, block and remove workers",
      load: () => import("./workers.ts"),
    },
    new: { summary: "make a folder with a worker of your own", load: () => import("./new.ts") },
    queues: { summary: "list, pause and resume types of jobs", load: () => import("./queues.ts") },
    quotas: { summary: "show and set what tenants may use", load: () => import("./quotas.ts") },
    schedules: {
      summary: "make the schedules of a file true",
      load: () => import("./schedules.ts"),
    },
    tokens: { summary: "issue, list, refresh and revoke tokens", load: () => import("./tokens.ts") },
    certs: {
      summary: "issue, list, renew and revoke certificates",
      needs: "database",
      load: () => import("./certs.ts"),
    },
    keys: { summary: "list, rotate, revoke and export the signing keys", load: () => import("./keys.ts") },
    audit: {
      summary: "check that the audit trail has not been altered",
      needs: "database",
      load: () => import("./database/audit.ts"),
    },
    backup: {
      summary: "back up database, keys and certificates into one encrypted file",
      needs: "database",
      load: () => import("./database/backup.ts"),
    },
    restore: {
      summary: "create a home from a backup",
      needs: "database",
      load: () => import("./database/restore.ts"),
    },
    migrate: {
      summary: "move the database from SQLite to PostgreSQL, or back",
      needs: "database",
      load: () => import("./database/migrate.ts"),
    },
    forward: {
      summary: "tell workers and clients of a hub that has moved where it is now",
      needs: "server",
      load: () => import("./database/forward.ts"),
    },
    "upgrade-check": {
      summary: "say what the next start would change in the database",
      needs: "database",
      load: () => import("./database/upgrade-check.ts"),
    },
    install: {
      summary: "install a hub, a worker or both as a systemd service",
      needs: "server",
      load: () => import("./install.ts"),
    },
    uninstall: {
      summary: "remove what install has installed",
      needs: "server",
      load: () => import("./uninstall.ts"),
    },
    lockdown: {
      summary: "lock or unlock the hub, or show why it is locked",
      load: () => import("./lockdown.ts"),
    },
    mcp: {
      summary: "serve jobs as tools to a program that drives a model, over standard input and output",
      load: () => import("./mcp/mcp.ts"),
    },
    skills: {
      summary: "tell coding agents of this user how to use Writ",
      load: () => import("./skills/skills.ts"),
    },
    doctor: {
      summary: "check this machine, the home and the hub, and say what to fix",
      needs: "database",
      load: () => import("./doctor/doctor.ts"),
    },
    health: {
      summary: "say whether the hub, or the worker, of this home works; for health checks",
      needs: "database",
      load: () => import("./doctor/health.ts"),
    },
    completion: {
      summary: "print a completion script for your shell",
      load: () => import("./completion.ts"),
    },
  },
};

export async function runWrit(context: CliContext): Promise<number> {
  try {
    return await runProgram(context, writShape);
  } catch (error) {
    return reportError(context, error);
  }
}
