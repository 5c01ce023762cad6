import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readPrivateFile, writePrivateFile } from "../files/private-file.ts";
import { ensureHome, resolveHome } from "./home.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-home-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test.each([0o755, 0o750, 0o701, 0o770])(
  "K-06: refuses a home of mode %o, does not repair it and says how to",
  async (mode) => {
    const home = join(dir, "home");
    mkdirSync(home);
    chmodSync(home, mode);
    await expect(ensureHome(home)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(`chmod 700 ${home}`),
    });
    expect(statSync(home).mode & 0o777).toBe(mode);
  },
);

test("refuses a home that is a file", async () => {
  writeFileSync(join(dir, "home"), "");
  await expect(ensureHome(join(dir, "home"))).rejects.toMatchObject({ code: "CONFIG_INVALID" });
});

test("K-06: refuses to read a secret that others can read", async () => {
  const path = join(dir, "admin.token");
  writeFileSync(path, "sk_admin_canary");
  chmodSync(path, 0o640);
  const error = await readPrivateFile(path).catch((reason) => reason);
  expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("chmod 600") });
  expect(error.message).not.toContain("canary");
});

test("makes a private home, twice", async () => {
  const home = join(dir, "a", "b");
  await ensureHome(home);
  await ensureHome(home);
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test("replaces a private file whole and leaves no temporary one, also when it fails", async () => {
  const path = join(dir, "key");
  expect(await readPrivateFile(path)).toBeNull();
  await writePrivateFile(path, "one");
  await writePrivateFile(path, Buffer.from("two"));
  expect(await readPrivateFile(path)).toBe("two");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  mkdirSync(join(dir, "taken"));
  await expect(writePrivateFile(join(dir, "taken"), "x")).rejects.toThrow();
  expect(readdirSync(dir).sort()).toEqual(["key", "taken"]);
  expect(readFileSync(path, "utf8")).toBe("two");
});

test("the home is the flag's, else WRIT_HOME, else the checkout's, else the user's", () => {
  const userHome = "/home/ann";
  expect(resolveHome({ flag: "/f", env: { WRIT_HOME: "/e" }, checkoutDir: "/c", userHome })).toBe("/f");
  expect(resolveHome({ env: { WRIT_HOME: "/e" }, checkoutDir: "/c", userHome })).toBe("/e");
  expect(resolveHome({ env: { WRIT_HOME: "" }, checkoutDir: "/c", userHome })).toBe("/c/.writ");
  expect(resolveHome({ env: {}, userHome })).toBe("/home/ann/.writ");
});
