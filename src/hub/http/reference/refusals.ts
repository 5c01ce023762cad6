import type { Route } from "../../../contract/routes/route.ts";
import { type ErrorCode, errorTable } from "../../../core/errors.ts";

type Header = { description: string; schema: { type: "string" } };
type Refusal = { description: string; headers?: Record<string, Header> };

/** The refusals that a route can answer with, by status. Their body is always the error. */
export function refusalStatuses(route: Route): number[] {
  const isOpen = route.who === "open";
  const isSigned = route.who === "signed URL";
  const isFile = isSigned && route.bodyKind === "stream";
  const hasBody = route.body !== undefined || route.bodyKind !== undefined;
  const isChange = route.method !== "GET";
  const isForWorkers = route.who === "job token" || route.who.includes("worker");
  const isBytes = (isSigned || route.path.includes("/output/")) && !isChange;
  const isRemovable = isBytes || route.path.includes("/artifacts/");
  return [
    400,
    ...(isSigned || (isOpen && !hasBody) ? [] : [401]),
    ...(isOpen ? [] : [403]),
    ...(route.params !== undefined || route.query !== undefined || hasBody ? [404] : []),
    ...(isChange ? [409] : []),
    ...(hasBody ? [408, 413, 415] : []),
    ...(isRemovable ? [410] : []),
    ...(isBytes ? [416] : []),
    ...(isForWorkers ? [423] : []),
    429,
    500,
    503,
    ...(isFile ? [507] : []),
  ];
}

/** Describes a refusal with this status by the codes that it can have. */
export function refusalOf(status: number): Refusal {
  const headers = headersOf[status];
  return {
    description: codesOf(status)
      .map((code) => `\`${code}\``)
      .join(", "),
    ...(headers && { headers }),
  };
}

/** The codes that a hub's refusal with this status can have. */
export function codesOf(status: number): ErrorCode[] {
  const codes = Object.keys(errorTable) as ErrorCode[];
  return codes.filter((code) => errorTable[code].http === status && !callersOwn.includes(code));
}

/** Codes that a hub never answers. */
const callersOwn: readonly ErrorCode[] = [
  "CONFIG_INVALID",
  "HUB_UNREACHABLE",
  "OUTCOME_UNKNOWN",
  "HTTP_ERROR",
  "TIMED_OUT",
  "JOB_FAILED",
];

const headersOf: Readonly<Record<number, Record<string, Header>>> = {
  401: { "WWW-Authenticate": header("`Bearer`") },
  416: { "Content-Range": header("The size of the output or file, as `bytes */SIZE`") },
  429: { "Retry-After": header("After how many seconds to try again") },
  503: { "Retry-After": header("After how many seconds to try again") },
};

export function header(description: string): Header {
  return { description, schema: { type: "string" } };
}
