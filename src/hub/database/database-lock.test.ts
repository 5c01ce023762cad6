import { expect, test } from "vitest";
import { lockDatabase } from "./database-lock.ts";

test("a folder that does not exist is named with its setting", () => {
  expect(() => lockDatabase("/nonexistent/of/writ/x.sqlite", "/home")).toThrow(
    "SQLITE_PATH: the folder /nonexistent/of/writ does not exist; make it first, or name another file",
  );
});
