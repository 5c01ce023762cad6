import { resolve } from "node:path";
import type { Command } from "commander";
import { backUp } from "../../../hub/admin.ts";
import { systemClock } from "../../../runtime/clock/clock.ts";
import { findHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { askPassphrase, passphraseOption } from "../../terminal/ask-passphrase.ts";
import { print } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  command
    .argument("<file>", "the backup file to write; an existing file is never overwritten")
    .option(...passphraseOption)
    .addHelpText(
      "after",
      "\nThe hub may be running. The file holds the database, keys, certificates, audit trail and settings, encrypted with\na passphrase of at least 12 characters. A database in PostgreSQL is not in it: the command that dumps it is printed. It does not hold outputs/ and objects/: copy those separately.",
    )
    .action(async (file: string, { passphraseFile }: { passphraseFile?: string }) => {
      const passphrase = await askPassphrase(context, { file: passphraseFile, isNew: true });
      const made = await backUp({
        home: findHome(context, command),
        env: context.env,
        file: resolve(context.cwd, file),
        passphrase,
        version: context.version,
        nowMs: systemClock.nowMs(),
      });
      print(
        context,
        command,
        made,
        ({ bytes, files }) =>
          `${neutraliseLine(made.file)} holds ${files} files in ${bytes} bytes; keep the passphrase: without it the file cannot be opened\n${made.unchecked.map(notChecked).join("")}${dumpAdvice(made.dump_command)}`,
      );
      if (made.faults.length === 0) return;
      const list = made.faults.map((fault) => `  ${neutraliseLine(fault)}\n`);
      context.stderr.write(
        `writ: the backup was written, but \`writ restore\` will refuse it; --accept-damaged restores damaged jobs as well\n${list.join("")}`,
      );
      context.exitCode = 1;
    });
}

function notChecked(what: string): string {
  return `not checked: ${neutraliseLine(what)}\n`;
}

function dumpAdvice(command: string | null): string {
  if (command === null) return "";
  return `The database is in PostgreSQL and not in this file, nor is output that is kept there. Dump it now, and keep both together:\n  ${neutraliseLine(command)}\n`;
}
