import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const src = join(import.meta.dirname, "../../src");

/** There is no MQTT yet. When it comes, it must still not know a broker that nobody named, nor keep a password. */
test("K-05: the program names no broker, so nothing is ever published to one by default", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  expect(files.length).toBeGreaterThan(100);
  const naming = files.filter((file) => /mqtts?:\/\/[a-z0-9]/i.test(readFileSync(join(src, file), "utf8")));
  expect(naming).toEqual([]);
});
