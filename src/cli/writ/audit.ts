import { existsSync } from "node:fs";
import type { Command } from "commander";
import { WritError } from "../../core/errors.ts";
import type { AuditVerdict } from "../../hub/admin.ts";
import { findHome } from "../connection-settings.ts";
import type { CliContext } from "../context.ts";
import { print } from "../print.ts";
import { neutraliseLine } from "../terminal.ts";

export function define(command: Command, context: CliContext): void {
  const verify = command.command("verify");
  verify
    .description("check the hashes and signatures of the audit trail; the hub need not be running")
    .action(() => verifyTrail(verify, context));
}

async function verifyTrail(command: Command, context: CliContext): Promise<void> {
  const home = findHome(context, command);
  if (!existsSync(home))
    throw new WritError("CONFIG_INVALID", `the home ${home} does not exist; name another with --home`);
  const { verifyAudit } = await import("../../hub/admin.ts");
  const verdict = await verifyAudit({ home, env: context.env });
  print(context, command, { ok: verdict.faults.length === 0, ...verdict }, showVerdict);
  if (verdict.faults.length > 0) context.exitCode = 1;
}

function showVerdict(verdict: AuditVerdict): string {
  const { faults, more, records, first, last, unsealed, signedThrough } = verdict;
  const range = records === 0 ? "no records yet" : `${records} records, ${first} to ${last}`;
  const tail = unsealed === 0 ? "" : `; ${unsealed} newer records are not sealed yet`;
  const signed = signedThrough === 0 ? "none signed yet" : `signed up to record ${signedThrough}`;
  if (faults.length === 0) return `the audit trail is intact: ${range}, ${signed}${tail}\n`;
  const lines = faults.map(({ seq, what }) => neutraliseLine(seq === null ? what : `record ${seq}: ${what}`));
  const rest = more ? "\nand more" : "";
  return `the audit trail was tampered with (${range}, ${signed}):\n${lines.join("\n")}${rest}\n`;
}
