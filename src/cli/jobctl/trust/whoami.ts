import type { Command } from "commander";
import { withWrit } from "../../connection/connection.ts";
import { type ConnectionSettings, loadConnection } from "../../connection/connection-settings.ts";
import { certificateInHome, tokenInHome } from "../../connection/credential.ts";
import type { CliContext } from "../../context.ts";
import { print } from "../../terminal/print.ts";
import { formatFields } from "../../terminal/table.ts";

export function define(command: Command, context: CliContext): void {
  command.action(async () => {
    const credential = describeCredential(await loadConnection(context, command));
    await withWrit(context, command, async (writ) => {
      const { user_id, tenant_id, role, worker_id } = await writ.whoAmI();
      const hub = await writ.hubUrls();
      const current_hub = await writ.currentHub();
      const found = {
        user: user_id,
        tenant: tenant_id,
        role,
        worker: worker_id,
        hub,
        current_hub,
        credential,
      };
      print(context, command, found, () =>
        formatFields([
          ["user", user_id],
          ["tenant", tenant_id ?? "all tenants"],
          ["role", role],
          ["worker", worker_id],
          ["hub", hub.join(", ")],
          ["in use", hub.length > 1 || !hub.includes(current_hub) ? current_hub : null],
          ["by", credential],
        ]),
      );
    });
  });
}

/** What the commands show the hub, and where it was found. Secrets are never printed. */
function describeCredential({ credential, home }: ConnectionSettings): string {
  if (credential.kind === "token") return `the token in ${credential.from}`;
  if (credential.kind === "certificate") {
    const { certFile, user, from } = credential;
    return certFile === undefined
      ? `the certificate of ${user} (${from}) in ${home}`
      : `the certificate ${certFile} (${from})`;
  }
  const certificate = certificateInHome(home, credential.user);
  const token = tokenInHome(home);
  const found = [certificate && `the certificate ${certificate}`, token && `the token in ${token}`];
  return (
    found.filter((one) => one !== undefined).join(" and ") || "nothing: no credential was given or found"
  );
}
