import { expect, test } from "vitest";
import { routes } from "../../contract/routes/routes.ts";
import { type Answer, written } from "./call.ts";
import { replyTo } from "./reply.ts";

test("JSON, text and an answer without a body become replies as the route declares", () => {
  expect(replyTo(routes.listJobs, { status: 200, body: [], headers: { "X-Next-Cursor": "7" } })).toEqual({
    status: 200,
    headers: { "Content-Type": "application/json", "X-Next-Cursor": "7" },
    body: "[]",
  });
  expect(replyTo(routes.pendingJob, { status: 200, body: '{"a":1.0}' })).toEqual({
    status: 200,
    headers: { "Content-Type": "application/json" },
    body: '{"a":1.0}',
  });
  expect(replyTo(routes.cancelJob, { status: 202 })).toEqual({ status: 202, headers: {}, body: null });
});

test("an answer that its route does not declare does not compile", () => {
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
