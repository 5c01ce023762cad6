import { join } from "node:path";
import { type Command, Option } from "commander";
import type { Token } from "../../client/index.ts";
import { WritError } from "../../core/errors.ts";
import { type Role, roles } from "../../core/identity.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { withWrit } from "../connection/connection.ts";
import { loadConnection } from "../connection/connection-settings.ts";
import { httpCredential } from "../connection/credential.ts";
import { parseTenant, tenantAllowed } from "../connection/tenant-option.ts";
import type { CliContext } from "../context.ts";
import { listByDefault, parsed } from "../program.ts";
import { parseDuration } from "../terminal/duration.ts";
import { print } from "../terminal/print.ts";
import { printRows } from "../terminal/print-rows.ts";
import type { Column } from "../terminal/table.ts";
import { neutraliseLine } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  defineIssue(command.command("issue"), context);
  defineList(listByDefault(command), context);
  defineRefresh(command.command("refresh"), context);
  defineRevoke(command.command("revoke"), context);
}

type IssueFlags = { role: Role; tenant?: string; user?: string; worker?: string; expires?: number };

function defineIssue(command: Command, context: CliContext): void {
  command
    .description("issue a token; its secret is printed only now")
    .addOption(new Option("--role <role>", "what the token may do").choices(roles).makeOptionMandatory())
    .option("--tenant <id>", `restrict it to this tenant (${tenantAllowed})`, parseTenant)
    .option("--user <id>", "the user that it identifies")
    .option("--worker <id>", "restrict it to this worker")
    .option(
      "--expires <time>",
      "expire after this time, such as 12h or 30d (default: never)",
      parsed(parseDuration, "a time such as 12h or 30d"),
    )
    .action(({ role, tenant, user, worker, expires }: IssueFlags) =>
      withWrit(context, command, async (writ) => {
        const made = await writ.createToken({
          role,
          tenantId: tenant,
          userId: user,
          workerId: worker,
          expiresInSec: expires === undefined ? undefined : Math.ceil(expires / 1000),
        });
        print(context, command, made, ({ token }) => `${token}\n`);
      }),
    );
}

function defineList(command: Command, context: CliContext): void {
  command.description("list the tokens, without their secrets").action(() =>
    withWrit(context, command, async (writ) => {
      const rows = await writ.tokens();
      await printRows(context, command, { rows, columns: columnsAt(systemClock.nowMs()), none: "no tokens" });
    }),
  );
}

function defineRefresh(command: Command, context: CliContext): void {
  command
    .description("exchange the token that you use for a new one; the old one ends at once")
    .option(
      "--expires <time>",
      "expire after this time, such as 12h or 30d (default: as long as the old one was given)",
      parsed(parseDuration, "a time such as 12h or 30d"),
    )
    .action(async ({ expires }: { expires?: number }) => {
      const connection = await loadConnection(context, command);
      const { credential, home } = connection;
      if (httpCredential(connection) === "certificate") {
        throw new WritError("INVALID_ARGUMENT", "you use a certificate, which has no token to refresh", {
          advice:
            "give the token with --token or WRIT_TOKEN; `writ certs renew` renews the home's certificate",
        });
      }
      await withWrit(context, command, async (writ) => {
        const expires_in_sec = expires === undefined ? undefined : Math.ceil(expires / 1000);
        const made = await writ.refreshToken({ expiresInSec: expires_in_sec });
        if (credential.kind !== "home") return print(context, command, made, ({ token }) => `${token}\n`);
        // It was the home's own token: every command here would fail with the old one.
        const file = join(home, "admin.token");
        await writePrivateFile(file, `${made.token}\n`);
        print(context, command, { id: made.id, file }, () => `${neutraliseLine(file)} holds a new token\n`);
      });
    });
}

function defineRevoke(command: Command, context: CliContext): void {
  command
    .description("revoke a token at once")
    .argument("<id>", "the token's id, from `writ tokens list`")
    .action((id: string) =>
      withWrit(context, command, async (writ) => {
        await writ.revokeToken(id);
        print(context, command, { id, revoked: true }, () => `${id} is revoked\n`);
      }),
    );
}

function columnsAt(nowMs: number): Column<Token>[] {
  return [
    { title: "ID", cell: (token) => token.id },
    { title: "ROLE", cell: (token) => token.role },
    { title: "TENANT", cell: (token) => token.tenant_id ?? "all" },
    { title: "USER", cell: (token) => token.user_id, minWidth: 6 },
    { title: "WORKER", cell: (token) => token.worker_id, minWidth: 6 },
    { title: "CREATED", cell: (token) => new Date(token.created_at).toISOString(), minWidth: 11 },
    {
      title: "EXPIRES",
      cell: (token) => (token.expires_at === null ? "never" : new Date(token.expires_at).toISOString()),
      minWidth: 11,
    },
    { title: "STATE", cell: (token) => stateAt(token, nowMs) },
  ];
}

function stateAt({ revoked_at, expires_at }: Token, nowMs: number): string {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && expires_at <= nowMs ? "expired" : "valid";
}
