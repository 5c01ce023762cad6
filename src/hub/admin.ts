import { join } from "node:path";
import { loadVerifyingKey } from "../signing/ed25519.ts";
import { readRing } from "../signing/ring-file.ts";
import { type AuditVerdict, verifyAudit as verify } from "./audit/verify-audit.ts";
import { loadHubSettings } from "./settings.ts";

/** The door for commands that work on a home without a running hub. */

export type { AuditFault, AuditVerdict } from "./audit/verify-audit.ts";

/** Checks the audit trail of a home: files, database and signed heads. A hub may be running. */
export async function verifyAudit(input: {
  home: string;
  env: Record<string, string | undefined>;
}): Promise<AuditVerdict> {
  const { home } = input;
  // A copy: the settings remove the secrets that they read.
  const settings = await loadHubSettings({ home, flags: {}, env: { ...input.env } });
  const { keys } = readRing(settings.keysDir ?? join(home, "keys"));
  return verify({
    home,
    databasePath: settings.sqlitePath ?? join(home, "writ.sqlite"),
    keys: new Map(keys.map(({ key_id, public_key }) => [key_id, loadVerifyingKey(public_key)])),
  });
}
