import { WritError } from "../../../core/errors.ts";
import { expiringCerts, expiringCertsOfSettings } from "../../../hub/admin.ts";

type Finding = { check: string; state: "ok" | "warning" | "problem"; says: string };

type CertsCall = { home: string; env: Record<string, string | undefined>; nowMs: number };

/** Finds certificates that expire soon, before they lock somebody out. */
export async function examineCerts(call: CertsCall): Promise<Finding[]> {
  const findings = [...(await examineOwn(call)), ...(await examineGiven(call))];
  if (findings.length > 0) return findings;
  return [{ check: "certs", state: "ok", says: "no certificate expires soon" }];
}

async function examineOwn({ home, nowMs }: CertsCall): Promise<Finding[]> {
  return (await expiringCerts(home, nowMs)).map(({ kind, user, serial, expiresAt }) => {
    const whose = kind === "client" ? `certificate ${serial} of ${user}` : `certificate of the ${kind}`;
    return endingFinding(`the ${whose}`, { expiresAt, nowMs, advice: adviceFor(kind) });
  });
}

/** A running hub keeps its old certificates when the new files cannot be used, but it could not start again. */
async function examineGiven(call: CertsCall): Promise<Finding[]> {
  try {
    const advice = "put a new one there; a running hub loads it by itself";
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
  const when = `${isOver ? "expired" : "expires"} at ${new Date(expiresAt).toISOString()}`;
  return { check: "certs", state: isOver ? "problem" : "warning", says: `${what} ${when}; ${advice}` };
}

function adviceFor(kind: "authority" | "server" | "client"): string {
  if (kind === "authority") return "plan its replacement: all certificates that it signed end with it";
  return kind === "server"
    ? "a running hub renews it, or logs why it cannot; or run: writ certs renew"
    : "run: writ certs renew (your own), or writ certs issue (somebody else's)";
}
