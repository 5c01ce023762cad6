import { expiringCerts } from "../../hub/admin.ts";

type Finding = { check: string; state: "ok" | "warning" | "problem"; says: string };

/** Certificates that end soon, before somebody is locked out by one. */
export async function examineCerts(home: string, nowMs: number): Promise<Finding[]> {
  const expiring = await expiringCerts(home, nowMs);
  if (expiring.length === 0)
    return [{ check: "certs", state: "ok", says: "no certificate ends within 30 days" }];
  return expiring.map(({ kind, user, serial, expiresAt }) => {
    const whose = kind === "client" ? `certificate ${serial} of ${user}` : `certificate of the ${kind}`;
    const when = new Date(expiresAt).toISOString();
    const isOver = expiresAt < nowMs;
    return {
      check: "certs",
      state: isOver ? "problem" : "warning",
      says: `the ${whose} ${isOver ? "ended" : "ends"} at ${when}; ${adviceFor(kind)}`,
    };
  });
}

function adviceFor(kind: "authority" | "server" | "client"): string {
  if (kind === "authority") return "plan a new one: every certificate hangs on it";
  return kind === "server"
    ? "run `writ certs renew` and restart the hub"
    : "issue a new one, or `writ certs renew`";
}
