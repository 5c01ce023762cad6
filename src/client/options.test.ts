import { expect, test } from "vitest";
import { optionsFromEnvironment } from "./options.ts";
import { Writ } from "./writ.ts";

test("an empty token in the environment is refused, so that no caller becomes the home's administrator by mistake", () => {
  const env = { WRIT_HOME: "/nowhere", WRIT_TOKEN: "" };
  expect(() => Writ.fromEnvironment(env)).toThrow("WRIT_TOKEN is empty; give a token, or leave it out");
});

test("the token of the environment is used, and without one the home's", () => {
  expect(optionsFromEnvironment({ WRIT_HOME: "/h", WRIT_TOKEN: "sk_user_x" }).token).toBe("sk_user_x");
  expect(optionsFromEnvironment({ WRIT_HOME: "/h" })).toMatchObject({ token: undefined, home: "/h" });
});
