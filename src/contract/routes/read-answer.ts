import type { z } from "zod";
import { isErrorCode, WritError } from "../../core/errors.ts";
import { type AnswerRow, answerRow, type Route, type StatusOf } from "./route.ts";

/** A response as it was received. */
export type Received = {
  status: number;
  /** The address of the hub, if the caller may have several. */
  from?: string | undefined;
  /** A header by its name in lower case. */
  header: (name: string) => string | undefined;
  text: () => string;
};

/** What a route returns when it succeeds: a status that its table lists, with a body of the shape beside it. */
export type RouteAnswer<R extends Route> = {
  [S in StatusOf<R>]: { status: S; body: AnswerBody<R["answers"][S]>; header: Received["header"] };
}[StatusOf<R>];

type AnswerBody<A> = A extends { shape: infer S extends z.ZodType } ? z.output<S> : undefined;

/** The response in the types of its route. A refusal is thrown as the hub's own error. Why: ADR 0024. */
export function readAnswer<R extends Route>(route: R, received: Received): RouteAnswer<R> {
  const { status, header } = received;
  const { shape } = successRow(route, received);
  const body = shape === undefined ? undefined : checked(shape, received);
  return { status, body, header } as RouteAnswer<R>;
}

/** The table's entry for this response, if it is a success that the table lists. */
export function successRow(route: Route, received: Received): AnswerRow {
  const { status } = received;
  // A redirect is a success of the routes that list one, and 409 and 503 in a table are not.
  const row = status < 400 ? answerRow(route, status) : undefined;
  if (row !== undefined) return row;
  const details = { status };
  if (status >= 200 && status < 300) {
    throw new WritError(
      "HTTP_ERROR",
      `${hubOf(received)} answered with the unexpected status ${status}`,
      details,
    );
  }
  throw refusalOf(received);
}

/**
 * The hub's error with its details and status. A response that is not the hub's, such as a proxy's page, is HTTP_ERROR.
 */
export function refusalOf(received: Received): WritError {
  const { status } = received;
  const error = hubError(received.text());
  const details = { ...error?.details, status, ...(error?.requestId && { request_id: error.requestId }) };
  if (error !== undefined && isErrorCode(error.code))
    return new WritError(error.code, error.message, details);
  const reason = error === undefined ? "" : ` (${error.code}: ${error.message})`;
  return new WritError("HTTP_ERROR", `${hubOf(received)} answered with status ${status}${reason}`, details);
}

function hubOf({ from }: Pick<Received, "from">): string {
  return from === undefined ? "the hub" : `the hub at ${from}`;
}

type HubError = {
  code: string;
  message: string;
  details: Record<string, unknown> | undefined;
  /** Under which the hub's log has the refusal. */
  requestId: string | undefined;
};

function hubError(text: string): HubError | undefined {
  const body = parsed(text)?.value;
  const error = isRecord(body) ? (body["error"] ?? unhealthy(body)) : undefined;
  if (!isRecord(error) || typeof error["code"] !== "string") return undefined;
  const message = typeof error["message"] === "string" ? error["message"] : error["code"];
  const details = isRecord(error["details"]) ? error["details"] : undefined;
  const requestId = typeof error["request_id"] === "string" ? error["request_id"] : undefined;
  return { code: error["code"], message, details, requestId };
}

/** The answer about the hub's health has its code and its sentence at the top, for those who monitor it. */
function unhealthy({ code, reason }: Record<string, unknown>): Record<string, unknown> | undefined {
  return typeof reason === "string" ? { code, message: reason } : undefined;
}

/** The body itself, once it has the shape; fields that a newer hub has added stay in it. */
function checked(shape: z.ZodType, received: Received): unknown {
  const { status } = received;
  const body = parsed(received.text());
  const what = `the response of ${hubOf(received)}`;
  if (body === undefined) {
    throw new WritError("HTTP_ERROR", `${what} (status ${status}) is not JSON; is it a hub?`, { status });
  }
  const { success, error } = shape.safeParse(body.value);
  if (success) return body.value;
  const place = error.issues[0]?.path.join(".") || "its root";
  throw new WritError("HTTP_ERROR", `${what} has an unexpected value at ${place}`, { status });
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The caller says whose text is not JSON.
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
