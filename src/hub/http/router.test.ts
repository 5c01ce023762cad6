import { expect, test } from "vitest";
import { Router } from "./router.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";

function routerOf(...rows: [method: string, pattern: string][]): Router<string> {
  const router = new Router<string>();
  for (const [method, pattern] of rows) router.add(method, pattern, `${method} ${pattern}`);
  return router;
}

const router = routerOf(
  ["GET", "/"],
  ["GET", "/jobs"],
  ["POST", "/jobs"],
  ["GET", "/jobs/pending"],
  ["GET", "/jobs/:id"],
  ["DELETE", "/jobs/:id"],
  ["POST", "/jobs/:id/start"],
  ["GET", "/jobs/:id/output/:stream"],
  ["GET", "/jobs/:id/artifacts/:key*"],
  ["GET", "/queues/:type"],
);

test("a path that matches no pattern is not found and allows no method", () => {
  const unknown = [
    "",
    "*",
    "jobs",
    "//jobs",
    "/jobs/",
    "/Jobs",
    "/job",
    "/jobs//start",
    `/jobs/${id}/start/`,
  ];
  const deeper = ["/queues", "/queues/", "/queues/a/b", `/jobs/${id}/artifacts`, `/jobs/${id}/artifacts/`];
  for (const path of [...unknown, ...deeper])
    expect([path, router.look("GET", path)]).toEqual([path, { target: null, allow: [] }]);
});

test("a path without the requested method names the methods that it has", () => {
  expect(router.look("PUT", "/jobs")).toEqual({ target: null, allow: ["GET", "POST"] });
  expect(router.look("GET", `/jobs/${id}/start`)).toEqual({ target: null, allow: ["POST"] });
  expect(router.look("POST", "/jobs/pending")).toEqual({ target: null, allow: ["GET", "DELETE"] });
});

test("HEAD finds the route of GET", () => {
  expect(router.look("HEAD", "/jobs")).toEqual({ target: "GET /jobs", params: {} });
  expect(router.look("HEAD", `/jobs/${id}/start`)).toEqual({ target: null, allow: ["POST"] });
});

test("a fixed part wins over a parameter if it has the method", () => {
  expect(router.look("GET", "/jobs/pending")).toEqual({ target: "GET /jobs/pending", params: {} });
  expect(router.look("DELETE", "/jobs/pending")).toEqual({
    target: "DELETE /jobs/:id",
    params: { id: "pending" },
  });
  const deep = routerOf(["GET", "/a/b/c"], ["GET", "/a/:x/d"], ["GET", "/:y/b/:z"]);
  expect(deep.look("GET", "/a/b/d")).toEqual({ target: "GET /a/:x/d", params: { x: "b" } });
  expect(deep.look("GET", "/a/b/e")).toEqual({ target: "GET /:y/b/:z", params: { y: "a", z: "e" } });
});

test("parameters are decoded once, and an invalid encoding stays unchanged", () => {
  const found = (path: string) => {
    const look = router.look("GET", path);
    return look.target === null ? null : look.params;
  };
  expect(found(`/jobs/${id}/output/stdout`)).toEqual({ id, stream: "stdout" });
  expect(found("/queues/a%2Fb%20c")).toEqual({ type: "a/b c" });
  expect(found("/queues/%2541")).toEqual({ type: "%41" });
  expect(found("/queues/%zz")).toEqual({ type: "%zz" });
  expect(found("/queues/:type")).toEqual({ type: ":type" });
  expect(found("/queues/__proto__")).toEqual({ type: "__proto__" });
  expect(found(`/jobs/${id}/artifacts/a/b%2Fc//d`)).toEqual({ id, key: "a/b/c//d" });
});

test("a pattern cannot be added twice", () => {
  expect(() => routerOf(["GET", "/jobs/:id"], ["GET", "/jobs/:job"])).toThrow(
    "GET /jobs/:job is in the table twice",
  );
});
