import { expect, test } from "vitest";
import { findRoute } from "./find-route.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";

test("a request that is unusual in any way is left to Hono", () => {
  const unusual = [
    ["GET", "/api/v1/jobs"],
    ["HEAD", "/api/v1/jobs"],
    ["POST", "/api/v1/jobs?x=1"],
    ["POST", "/api/v1/jobs/"],
    ["POST", "//api/v1/jobs"],
    ["POST", "/api/v1/%6aobs"],
    ["POST", "http://hub/api/v1/jobs"],
    ["POST", "/api/v2/jobs"],
    ["POST", "/jobs"],
    ["POST", `/api/v1/jobs/${id}`],
    ["POST", `/api/v1/jobs/${id}/nothing`],
    ["POST", `/api/v1/jobs/${id.toUpperCase()}/start`],
    ["POST", `/api/v1/jobs/${id}/start/`],
    ["POST", `/api/v1/jobs/${id}/output/stdout?offset=0`],
    ["POST", ""],
  ] as const;
  for (const [method, url] of unusual)
    expect([method, url, findRoute(method, url)]).toEqual([method, url, null]);
});

test("a POST to a fixed path is found below both prefixes", () => {
  expect(findRoute("POST", "/api/v1/jobs")).toEqual({ name: "submitJob", params: {} });
  expect(findRoute("POST", "/api/jobs/batch")).toEqual({ name: "submitJobs", params: {} });
  expect(findRoute("POST", "/api/v1/jobs/claim-batch")?.name).toBe("claimJobs");
});

test("a POST to a job is found with its id", () => {
  expect(findRoute("POST", `/api/v1/jobs/${id}/start`)).toEqual({ name: "startJob", params: { id } });
  expect(findRoute("POST", `/api/jobs/${id}/result`)).toEqual({ name: "finishJob", params: { id } });
});
