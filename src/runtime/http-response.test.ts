import { expect, test } from "vitest";
import { createHttpResponse, throwForStatus } from "./http-response.ts";

test("the hub's error comes out with its code, details and status; anything else is HTTP_ERROR", () => {
  const body = { error: { code: "OUTPUT_OFFSET", message: "no", details: { size: 7 } } };
  const refused = (status: number, content: string): unknown =>
    catchError(() => throwForStatus(createHttpResponse(status, {}, Buffer.from(content))));
  expect(refused(409, JSON.stringify(body))).toMatchObject({
    code: "OUTPUT_OFFSET",
    message: "no",
    details: { size: 7, status: 409 },
  });
  expect(refused(502, "<html>")).toMatchObject({ code: "HTTP_ERROR", details: { status: 502 } });
  expect(refused(500, '{"error":{"code":"toString"}}')).toMatchObject({ code: "HTTP_ERROR" });
  expect(refused(302, "")).toMatchObject({ code: "HTTP_ERROR" });
  expect(catchError(() => createHttpResponse(200, {}, Buffer.from("{")).json())).toMatchObject({
    code: "HTTP_ERROR",
  });
});

test("a response of success is given back", () => {
  const response = createHttpResponse(204, {}, Buffer.alloc(0));
  expect(throwForStatus(response)).toBe(response);
});

function catchError(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was thrown");
}
