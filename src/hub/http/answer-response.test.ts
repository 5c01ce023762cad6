import { expect, test } from "vitest";
import { routes } from "../../contract/routes.ts";
import { answerResponse } from "./answer-response.ts";
import { type Answer, written } from "./call.ts";

test("JSON, text and an answer without a body become what the route's row says", async () => {
  const json = answerResponse(routes.listJobs, { status: 200, body: [], headers: { "X-Next-Cursor": "7" } });
  expect([
    json.status,
    json.headers.get("content-type"),
    json.headers.get("x-next-cursor"),
    await json.text(),
  ]).toEqual([200, "application/json", "7", "[]"]);
  const text = answerResponse(routes.pendingJob, { status: 200, body: '{"a":1.0}' });
  expect([text.headers.get("content-type"), await text.text()]).toEqual(["application/json", '{"a":1.0}']);
  const none = answerResponse(routes.cancelJob, { status: 202 });
  expect([none.status, none.body]).toEqual([202, null]);
});

test("an answer that its route does not name does not compile", () => {
  const right: [Answer<"cancelJob">, Answer<"createToken">, Answer<"streamEvents">] = [
    { status: 202 },
    { status: 201, body: { id: "a", token: "b" } },
    { status: 200, body: written },
  ];
  // @ts-expect-error: no such status
  const status: Answer<"cancelJob"> = { status: 200 };
  // @ts-expect-error: a field is missing
  const field: Answer<"createToken"> = { status: 201, body: { id: "a" } };
  const boss = { role: "boss", tenant_id: null, user_id: "", worker_id: null } as const;
  // @ts-expect-error: no such role
  const value: Answer<"getSession"> = { status: 200, body: boss };
  // @ts-expect-error: a stream is no JSON
  const stream: Answer<"streamEvents"> = { status: 200, body: {} };
  expect([right, status, field, value, stream]).toHaveLength(5);
});
