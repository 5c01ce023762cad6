import type { IncomingHttpHeaders } from "node:http2";
import { WritError } from "../../core/errors.ts";
import { errorOfStatus } from "../../runtime/grpc/call-status.ts";
import { movedToHeader } from "../../runtime/hubs/moved-hub.ts";
import type { RpcTarget } from "./find-rpc.ts";

/** The error with which the hub refused a call. */
export function refusal(headers: IncomingHttpHeaders): WritError {
  const { code, message, details } = errorOfStatus(headers);
  const moved_to = code === "HUB_MOVED" ? headers[movedToHeader] : undefined;
  return new WritError(code, message, {
    ...details,
    ...(code === "UNAUTHENTICATED" && { advice: certificateAdvice }),
    ...(moved_to && { moved_to }),
  });
}

const certificateAdvice = "an administrator can issue a valid certificate with `writ certs issue`";

/** There was no response from a hub: nothing listens there, it hung up, or one of the two did not accept the other. */
export function connectionError(error: unknown, target: RpcTarget): WritError {
  const { host, port, url, from } = target;
  const where = `${host}:${port}${url === undefined ? "" : `, the gRPC address for ${url}`}`;
  const found = nodeCodes(error);
  const problem = validityProblem(target.cert);
  const alert = found.map((code) => /^ERR_SSL_.*_ALERT_(\w+)$/.exec(code)?.[1]).find((name) => name);
  if (problem !== undefined || alert !== undefined) {
    const why = problem ?? alertText[alert!] ?? `(${alert})`;
    return new WritError("UNAUTHENTICATED", `the hub at ${where} refused the certificate: ${why}`, {
      advice: certificateAdvice,
    });
  }
  const distrust = found.find((code) => distrusted.test(code));
  if (distrust !== undefined) {
    const message = `the server at ${where} does not have the hub's certificate (${distrust})`;
    return new WritError("HUB_UNREACHABLE", message, {
      advice: "check the address (--grpc) and the authority (--ca or --home)",
    });
  }
  if (found.some((code) => code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN")) {
    const advice = addressAdvice[from];
    const details = advice === undefined ? {} : { advice };
    return new WritError("HUB_UNREACHABLE", `no hub answers at ${where} (${found[0]})`, details);
  }
  const advice =
    "if it is running, it may have refused the certificate; `writ certs list` shows which are valid";
  const why = found[0] ?? (error as Error).message;
  return new WritError("HUB_UNREACHABLE", `the hub at ${where} hung up (${why})`, { advice });
}

/** What to check when nothing listens at an address, by where the address is from. */
const addressAdvice: Partial<Record<RpcTarget["from"], string>> = {
  url: "if its gRPC address is another one, name it with --grpc HOST:PORT; or use a token, which needs none",
  option: "check the gRPC address that was given with --grpc or WRIT_GRPC_ADDR",
};

/** What the hub means by an alert of TLS. */
const alertText: Record<string, string> = {
  CERTIFICATE_REVOKED: "it is revoked",
  UNKNOWN_CA: "it is not from an authority that the hub accepts",
  UNSUPPORTED_CERTIFICATE: "it is not made for clients",
  ACCESS_DENIED: "too many connections are open with it",
};

const distrusted = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|ERR_SSL_|ERR_TLS_/;
const causesMax = 8;

function nodeCodes(error: unknown): string[] {
  const found: string[] = [];
  for (let cause = error, depth = 0; cause instanceof Error && depth < causesMax; depth++) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code === "string") found.push(code);
    cause = cause.cause;
  }
  return found;
}

/** The client knows the dates; a hub of an earlier version hangs up without a reason. */
function validityProblem(pem: string): string | undefined {
  try {
    // Loaded only here, because it takes a while and most calls succeed.
    const { X509Certificate } = process.getBuiltinModule("node:crypto");
    const { validFrom, validTo } = new X509Certificate(pem);
    // As texts: Node 20 does not have them as dates.
    const [from, to] = [new Date(validFrom), new Date(validTo)];
    const now = Date.now();
    if (to.getTime() < now) return `it expired on ${to.toISOString().slice(0, 10)}`;
    if (from.getTime() > now) return `it is not valid before ${from.toISOString()}`;
    return undefined;
  } catch {
    // Node cannot parse it.
    return "it is not a certificate";
  }
}
