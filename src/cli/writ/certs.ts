import { resolve } from "node:path";
import type { Command } from "commander";
import { WritError } from "../../core/errors.ts";
import {
  type HomeCall,
  initHomeCerts,
  issueHomeCert,
  type ListedCert,
  listCerts,
  renewHomeCerts,
  revokeCerts,
} from "../../hub/admin.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import { isLoopback } from "../../runtime/hubs/hub-address.ts";
import { findHome } from "../connection/connection-settings.ts";
import { parseTenant, tenantAllowed } from "../connection/tenant-option.ts";
import type { CliContext } from "../context.ts";
import { wholeNumber } from "../program.ts";
import { print, wantsJson } from "../terminal/print.ts";
import { type Column, formatTable, tableWidth } from "../terminal/table.ts";
import { neutraliseLine, safeJson } from "../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  defineInit(command.command("init"), context);
  defineIssue(command.command("issue"), context);
  defineRevoke(command.command("revoke"), context);
  defineList(command.command("list"), context);
  defineRenew(command.command("renew"), context);
}

function defineInit(command: Command, context: CliContext): void {
  command
    .description("create the certificate authority and the first certificates in the home, if missing")
    .action(async () => {
      const call = homeCall(context, command);
      await initHomeCerts(call);
      print(
        context,
        command,
        { home: call.home },
        () => `the certificates in ${neutraliseLine(call.home)} are ready\n`,
      );
    });
}

type IssueFlags = {
  user: string;
  tenant: string;
  admin?: boolean;
  out: string;
  url?: string;
  hubGrpcPort?: number;
};

function defineIssue(command: Command, context: CliContext): void {
  command
    .description("issue a client certificate into a folder that serves as --home on another machine")
    .requiredOption("--user <name>", "the user that it identifies")
    .option("--tenant <id>", `the user's tenant (${tenantAllowed})`, parseTenant, "default")
    .option("--admin", "make the user an administrator of the tenant")
    .requiredOption("--out <dir>", "the folder to write")
    .option("--url <url>", "the hub's address as that machine sees it")
    .option("--hub-grpc-port <n>", "the hub's gRPC port as that machine sees it", wholeNumber(1, 65_535))
    .action(async ({ user, tenant, admin = false, out, url, hubGrpcPort }: IssueFlags) => {
      checkUrl(url);
      const folder = resolve(context.cwd, out);
      const call = { ...homeCall(context, command), user, tenant, isAdmin: admin, out: folder };
      const issued = await issueHomeCert({ ...call, url, grpcPort: hubGrpcPort });
      if (isLoopback(new URL(issued.url).hostname)) {
        context.stderr.write(
          `note: only this machine can reach ${issued.url}; give the hub's public address with --url\n`,
        );
      }
      const made = { serial: issued.serial, user, tenant, expires_at: issued.expiresAt, out: folder };
      print(context, command, made, () =>
        [
          `${neutraliseLine(folder)} is ready for ${neutraliseLine(user)}. It contains a private key: copy it over a secure channel, then run on the other machine:`,
          `  jobctl --home ${neutraliseLine(out)} list`,
          "",
        ].join("\n"),
      );
    });
}

function checkUrl(url: string | undefined): void {
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? "")) return;
  throw new WritError(
    "INVALID_ARGUMENT",
    `--url: ${JSON.stringify(url)} is not a hub address; use https://host:port`,
  );
}

function defineRevoke(command: Command, context: CliContext): void {
  command
    .description("revoke one certificate, or all of a user; a running hub refuses them at once")
    .argument("[serial]", "the certificate's serial number, from `writ certs list`")
    .option("--user <name>", "revoke all certificates of this user")
    .option("--tenant <id>", "with --user: only those of this tenant")
    .action(async (serial: string | undefined, { user, tenant }: { user?: string; tenant?: string }) => {
      if ((serial === undefined) === (user === undefined)) {
        throw new WritError(
          "INVALID_ARGUMENT",
          "give either a serial number or --user NAME; `writ certs list` shows both",
        );
      }
      const { home, nowMs, osUser } = homeCall(context, command);
      for (const ended of await revokeCerts(home, { serial, user, tenant, nowMs, by: osUser })) {
        const view = { serial: ended.serial, revoked: true, issued_here: ended.isIssuedHere };
        print(context, command, view, () => `${ended.serial} is revoked\n`);
        if (!ended.isIssuedHere) context.stderr.write(notIssuedHere(ended.serial));
      }
    });
}

/** The number is revoked in any case, so without this note a wrong digit would look like a success. */
function notIssuedHere(serial: string): string {
  return `note: this home has issued no certificate ${serial}; unless another authority did, compare the number with \`writ certs list\`\n`;
}

function defineList(command: Command, context: CliContext): void {
  command.description("list all certificates that this home has issued").action(async () => {
    const { home, nowMs } = homeCall(context, command);
    const certs = await listCerts(home, nowMs);
    const text = wantsJson(command)
      ? certs.map((cert) => `${safeJson(viewOf(cert))}\n`).join("")
      : formatTable(columnsAt(nowMs), certs, tableWidth(context.stdout));
    context.stdout.write(text);
  });
}

function defineRenew(command: Command, context: CliContext): void {
  command.description("replace the certificates of the hub and of the home's owner").action(async () => {
    const call = homeCall(context, command);
    await renewHomeCerts(call);
    print(
      context,
      command,
      { home: call.home, renewed: true },
      () => "renewed; a running hub uses its new certificate within ten seconds\n",
    );
  });
}

function homeCall(context: CliContext, command: Command): HomeCall {
  const { env, osUser } = context;
  return { home: findHome(context, command), env, osUser, nowMs: systemClock.nowMs() };
}

function viewOf({ issuedAt, expiresAt, revokedAt, endsSoon, certificate: _, ...cert }: ListedCert) {
  return {
    ...cert,
    issued_at: issuedAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    ends_soon: endsSoon,
  };
}

function columnsAt(nowMs: number): Column<ListedCert>[] {
  return [
    { title: "SERIAL", cell: ({ serial }) => serial },
    { title: "KIND", cell: ({ kind }) => kind },
    { title: "USER", cell: ({ user }) => user },
    { title: "TENANT", cell: ({ tenant }) => tenant, isOptional: true },
    { title: "ROLE", cell: ({ role }) => role },
    { title: "EXPIRES", cell: ({ expiresAt }) => new Date(expiresAt).toISOString(), minWidth: 11 },
    { title: "STATE", cell: (cert) => stateAt(cert, nowMs) },
  ];
}

function stateAt({ revokedAt, expiresAt, endsSoon }: ListedCert, nowMs: number): string {
  if (revokedAt !== null) return "revoked";
  if (expiresAt < nowMs) return "expired";
  return endsSoon ? "expires soon" : "valid";
}
