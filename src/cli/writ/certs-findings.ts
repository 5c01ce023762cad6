import { WritError } from "../../core/errors.ts";
import { expiringCerts, expiringCertsOfSettings } from "../../hub/admin.ts";

type Finding = { check: string; state: "ok" | "warning" | "problem"; says: string };

export type CertsCall = { home: string; env: Record<string, string | undefined>; nowMs: number };

/** Certificates that end soon, before somebody is locked out by one. */
export async function examineCerts(call: CertsCall): Promise<Finding[]> {
  const findings = [...(await examineOwn(call)), ...(await examineGiven(call))];
  if (findings.length > 0) return findings;
  return [{ check: "certs", state: "ok", says: "no certificate ends soon" }];
}

async function examineOwn({ home, nowMs }: CertsCall): Promise<Finding[]> {
  return (await expiringCerts(home, nowMs)).map(({ kind, user, serial, expiresAt }) => {
    const whose = kind === "client" ? `certificate ${serial} of ${user}` : `certificate of the ${kind}`;
    return endingFinding(`the ${whose}`, { expiresAt, nowMs, advice: adviceFor(kind) });
  });
}

/** A hub that runs goes on with what it had when files cannot be used, but it would not start again. */
async function examineGiven(call: CertsCall): Promise<Finding[]> {
  try {
    const advice = "put a new one there; a running hub takes it over by itself";
    return (await expiringCertsOfSettings(call)).map(({ setting, path, expiresAt }) =>
      endingFinding(`a certificate in ${path} (${setting})`, { expiresAt, nowMs: call.nowMs, advice }),
    );
  } catch (error) {
    if (!(error instanceof WritError)) throw error;
    return [{ check: "certs", state: "problem", says: error.message }];
  }
}

function endingFinding(
  what: string,
  { expiresAt, nowMs, advice }: { expiresAt: number; nowMs: number; advice: string },
): Finding {
  const isOver = expiresAt < nowMs;
  const when = `${isOver ? "ended" : "ends"} at ${new Date(expiresAt).toISOString()}`;
  return { check: "certs", state: isOver ? "problem" : "warning", says: `${what} ${when}; ${advice}` };
}

function adviceFor(kind: "authority" | "server" | "client"): string {
  if (kind === "authority") return "plan a new one: every certificate hangs on it";
  return kind === "server"
    ? "a hub that runs renews it, and says in its log why not; or run: writ certs renew"
    : "issue a new one, or `writ certs renew`";
}
