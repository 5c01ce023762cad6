import type { Command } from "commander";
import { abandonMigration, type Migrated, type MigrationProgress, migrate } from "../../../hub/admin.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { findExistingHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { print, wantsJson } from "../../terminal/print.ts";
import { neutraliseLine, safeJson } from "../../terminal/terminal.ts";
import { MigrationBars } from "./migration-bars.ts";

type MigrateOptions = {
  from?: string;
  to?: string;
  fromEnv?: string;
  toEnv?: string;
  acceptDamaged?: boolean;
  abandon?: boolean;
};

const help = `
Stop the hub first; running jobs continue meanwhile. A database is sqlite:FILE (sqlite: for the home's own file) or
postgres://user@host/database (postgres: for WRIT_DATABASE_URL). Everybody on the machine can read the arguments of a
program, so give an address with a password in a variable. A migration that was interrupted continues when the same
command is run again. With --json, each line says how far it is.`;

export function define(command: Command, context: CliContext): void {
  command
    .option("--from <database>", "the database to move (default: the other one of SQLite and PostgreSQL)")
    .option("--to <database>", "where to move it; it must be empty")
    .option("--from-env <name>", "the variable with the address of the database to move")
    .option("--to-env <name>", "the variable with the address to move it to")
    .option("--accept-damaged", "move damaged jobs and a broken audit trail as they are")
    .option(
      "--abandon",
      "let hubs use the database of --from again, whose migration was begun or is regretted",
    )
    .addHelpText("after", help)
    .action((options: MigrateOptions) =>
      options.abandon === true ? abandon(command, context, options) : run(command, context, options),
    );
}

function callOf(command: Command, context: CliContext, { from, to, fromEnv, toEnv }: MigrateOptions) {
  return {
    home: findExistingHome(context, command),
    cwd: context.cwd,
    env: context.env,
    from: { option: "--from", text: from, variable: fromEnv },
    to: { option: "--to", text: to, variable: toEnv },
  };
}

async function run(command: Command, context: CliContext, options: MigrateOptions): Promise<void> {
  warnOfPasswords(context, options);
  const shown = showProgress(command, context);
  const call = callOf(command, context, options);
  try {
    const acceptDamaged = options.acceptDamaged === true;
    const migrated = await migrate({
      ...call,
      acceptDamaged,
      clock: systemClock,
      onProgress(progress) {
        shown.progress(progress);
        if (context.stops.requested.aborted) stop(context, shown.end);
      },
    });
    shown.end();
    print(context, command, { done: true, ...migrated }, showMigrated);
  } finally {
    shown.end();
  }
}

/** Between two pages: what is written is noted, so the next call continues there. */
function stop({ stderr, stops }: CliContext, end: () => void): never {
  end();
  stderr.write("writ: stopped; run the same command again: it continues where it stopped\n");
  throw stops.requested.reason;
}

function showMigrated({ from, to, rows, records, seals, damaged, unchecked, next }: Migrated): string {
  return [
    `${neutraliseLine(from)} was moved to ${neutraliseLine(to)}: ${rows} rows are equal, ${records} audit records and ${seals} seals were checked.`,
    ...(damaged.length === 0 ? [] : [`Damaged jobs that no worker is given: ${damaged.length}.`]),
    ...unchecked.map((what) => `Not checked: ${neutraliseLine(what)}`),
    `No hub will use the old database any more. Now ${neutraliseLine(next)}; then start the hub.`,
    "If the new hub has another address, `writ forward --to ADDRESS` at the old one sends workers and clients there.",
    "",
  ].join("\n");
}

async function abandon(command: Command, context: CliContext, options: MigrateOptions): Promise<void> {
  const abandoned = await abandonMigration(callOf(command, context, options));
  print(
    context,
    command,
    abandoned,
    ({ from, to }) =>
      `A hub may use ${neutraliseLine(from)} again. What was copied to ${neutraliseLine(to)} is still there; remove it before another migration.\n`,
  );
}

function showProgress(command: Command, context: CliContext) {
  const shown = new MigrationBars(context);
  return {
    progress(progress: MigrationProgress): void {
      if (wantsJson(command)) context.stdout.write(`${safeJson(progress)}\n`);
      else shown.show(progress);
    },
    end: () => shown.end(),
  };
}

function warnOfPasswords(context: CliContext, { from = "", to = "" }: MigrateOptions): void {
  const hasPassword = [from, to].some((text) => URL.canParse(text) && new URL(text).password !== "");
  if (hasPassword)
    context.stderr.write(
      "writ: everybody on this machine can read the password in these arguments; use --to-env or WRIT_DATABASE_URL\n",
    );
}
