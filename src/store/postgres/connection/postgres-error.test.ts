import { expect, test } from "vitest";
import { WritError } from "../../../core/errors.ts";
import { RefusedAct } from "../../acts/refused-act.ts";
import { MetOthers } from "../transaction/answers.ts";
import { blame } from "./postgres-error.ts";

const stated = (code: string) => Object.assign(new Error("said by the server"), { code });

test.each([
  ["57P01", "connection"],
  ["57P05", "connection"],
  ["25P03", "connection"],
  ["08006", "connection"],
  ["ECONNRESET", "connection"],
  ["40P01", "again"],
  ["23505", "again"],
  ["WR002", "again"],
  ["42703", "act"],
  ["22P02", "act"],
])("%s is blamed on the %s", (code, whom) => {
  expect(blame(stated(code))).toBe(whom);
});

test("an act that is refused, or has met others, says nothing of the connection", () => {
  expect([blame(new RefusedAct(null)), blame(new MetOthers())]).toEqual(["act", "again"]);
});

test("an error of the system is blamed on the connection, even if its code looks like one of the server", () => {
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" });
  expect(blame(broken)).toBe("connection");
});

test("mistakes of ours and refusals are never taken for a lost connection", () => {
  expect([new TypeError("x"), new WritError("NOT_FOUND", "x")].map(blame)).toEqual(["act", "act"]);
});
