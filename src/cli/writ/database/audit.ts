import type { Command } from "commander";
import type { AuditVerdict, SealFindings } from "../../../hub/admin.ts";
import { findExistingHome } from "../../connection/connection-settings.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { neutraliseLine } from "../../terminal/terminal.ts";

export function define(command: Command, context: CliContext): void {
  const verify = command.command("verify");
  verify
    .description("check the hashes and signatures of the audit trail; the hub need not be running")
    .option(
      "--seals",
      "check every document and receipt in the database too, and compare each job with its receipt and its last event",
    )
    .action(({ seals = false }: { seals?: boolean }) => verifyTrail(verify, context, seals));
}

async function verifyTrail(command: Command, context: CliContext, withSeals: boolean): Promise<void> {
  const home = findExistingHome(context, command);
  const { verifyAudit, verifySeals } = await import("../../../hub/admin.ts");
  const verdict = await verifyAudit({ home, env: context.env });
  const seals = withSeals ? await verifySeals({ home, env: context.env }) : undefined;
  const ok = verdict.faults.length + (seals?.broken.length ?? 0) + (seals?.contradicted.length ?? 0) === 0;
  print(
    context,
    command,
    { ok, ...verdict, ...(seals && { seals }) },
    (shown) => showVerdict(shown) + showSeals(seals),
  );
  if (!ok) context.exitCode = 1;
}

function showSeals(seals: SealFindings | undefined): string {
  if (seals === undefined) return "";
  const { checked, broken, contradicted, refused } = seals;
  const known = refused === 0 ? "" : `; ${refused} damaged jobs were refused before`;
  if (broken.length + contradicted.length === 0)
    return `the seals are intact: ${checked} documents and receipts${known}\n`;
  const lines = [
    ...broken.map((id) => `job ${neutraliseLine(id)} does not match its seal\n`),
    ...contradicted.map((id) => `job ${neutraliseLine(id)} contradicts its receipt or its last event\n`),
  ];
  return `jobs were damaged or tampered with (${checked} checked${known}):\n${lines.join("")}`;
}

function showVerdict(verdict: AuditVerdict): string {
  const { faults, more, records, first, last, unsealed, signedThrough, unchecked } = verdict;
  const range = records === 0 ? "no records yet" : `${records} records, ${first} to ${last}`;
  const tail = unsealed === 0 ? "" : `; ${unsealed} newer records are not sealed yet`;
  const signed = signedThrough === 0 ? "none signed yet" : `signed up to record ${signedThrough}`;
  const notes = unchecked.map((what) => `not checked: ${neutraliseLine(what)}\n`).join("");
  if (faults.length === 0) {
    const intact = unchecked.length === 0 ? "intact" : "intact as far as it can be checked in this home";
    return `the audit trail is ${intact}: ${range}, ${signed}${tail}\n${notes}`;
  }
  const lines = faults.map(({ seq, what }) => neutraliseLine(seq === null ? what : `record ${seq}: ${what}`));
  const rest = more ? "\nand more" : "";
  return `the audit trail was tampered with (${range}, ${signed}):\n${lines.join("\n")}${rest}\n${notes}`;
}
