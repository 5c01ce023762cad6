import { expect, test } from "vitest";
import { sealDocument } from "../../signing/mac.ts";
import { isSealed, sealJob } from "./job-seal.ts";

const macKey = Buffer.alloc(32, 1);
const job = {
  id: "j1",
  tenantId: "acme",
  userId: "u1",
  type: "x",
  priority: 5,
  queueKey: "q",
  maxAttempts: 3,
  attemptsChosen: false,
  limitsDefaulted: null,
  terms: null,
  timeoutSec: 300,
  documentTimeoutSec: 300,
  documentSha256: "00",
  idempotencyKey: "k",
};

/** As version 0.1 sealed it: without the timeout of the next lease. */
const earlierRouting = JSON.stringify(["j1", "acme", "u1", "x", 5, "q", 300, 3, "00", "k"]);

test("B12: a job of an earlier version keeps its seal, also after a retry has doubled its timeout", () => {
  const mac = sealDocument(macKey, { document: "{}", routing: earlierRouting });
  for (const timeoutSec of [300, 600]) expect(isSealed(macKey, { ...job, timeoutSec }, "{}", mac)).toBe(true);
});

test("B12: no other timeout is accepted for a job of an earlier version", () => {
  const mac = sealDocument(macKey, { document: "{}", routing: earlierRouting });
  for (const timeoutSec of [0, 299, 301, 900, 7_200, -1]) {
    expect(isSealed(macKey, { ...job, timeoutSec }, "{}", mac)).toBe(false);
  }
});

test("B12: a job of this version has exactly the timeout that it was sealed with", () => {
  const mac = sealJob(macKey, job, "{}");
  expect(isSealed(macKey, job, "{}", mac)).toBe(true);
  for (const timeoutSec of [0, 600, 301])
    expect(isSealed(macKey, { ...job, timeoutSec }, "{}", mac)).toBe(false);
});
