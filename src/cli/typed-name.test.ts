import { expect, test } from "vitest";
import { typedName } from "./typed-name.ts";

const npx = { npm_command: "exec" };

test("the programs of a checkout are in its bin/, seen from where the person is", () => {
  const checkout = "/home/ada/writ";
  expect(typedName("jobctl", { checkout, cwd: checkout, env: {} })).toBe("bin/jobctl");
  expect(typedName("writ", { checkout, cwd: "/", env: npx })).toBe("home/ada/writ/bin/writ");
  expect(typedName("writ", { checkout: "/my tools", cwd: "/home", env: {} })).toBe("'/my tools/bin/writ'");
});

test("those of a package are found by npx if it was started that way, and are on the PATH otherwise", () => {
  const around = { checkout: undefined, cwd: "/home/ada/app" };
  expect(typedName("jobctl", { ...around, env: npx })).toBe("npx jobctl");
  expect(typedName("writ", { ...around, env: { npm_command: "run-script" } })).toBe("writ");
  expect(typedName("writ", { ...around, env: {} })).toBe("writ");
});
