import type { Command } from "commander";
import type { LockdownState } from "../../client/shapes.ts";
import { withWrit } from "../connection/connection.ts";
import type { CliContext } from "../context.ts";
import { print } from "../terminal/print.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

type Flags = { reason?: string; lift?: boolean; tenant?: string };

export function define(command: Command, context: CliContext): void {
  command
    .option(
      "--reason <text>",
      "lock the hub, for this reason; jobs wait again, or fail if their only attempt had begun",
    )
    .option("--lift", "lift the lockdown")
    .option("--tenant <id>", "with --lift: lift the lockdown of this tenant instead of the hub's")
    .action((flags: Flags) =>
      withWrit(context, command, async (writ) => {
        if (flags.reason !== undefined) await writ.lockDown(flags.reason);
        if (flags.lift === true) await writ.liftLockdown(flags.tenant);
        print(context, command, await writ.lockdown(), (state) => linesOf(state).map(asLine).join(""));
      }),
    );
}

function linesOf({ locked, reason, user_id: userId, since, tenants = [] }: LockdownState): string[] {
  const hub = locked
    ? `locked since ${new Date(since!).toISOString()} by ${userId ?? "the hub"}: ${reason}`
    : "not locked";
  const ofTenants = tenants.map(
    (one) => `tenant ${one.tenant_id} locked since ${new Date(one.since).toISOString()}: ${one.reason}`,
  );
  return [hub, ...ofTenants];
}

function asLine(text: string): string {
  return `${neutraliseLine(text)}\n`;
}
