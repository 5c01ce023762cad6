import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from "vitest";
import { boolean, integer, jsonList, loadSettings, number, oneOf, parser, text } from "./settings.ts";
import { loadYamlFile, parseYaml } from "./yaml-file.ts";

const declared = {
  port: { name: "PORT", parse: integer({ min: 0, max: 65535 }), default: 3000 },
  leaseMs: { name: "WRIT_LEASE_MS", parse: integer({ min: 1000, max: 3_600_000 }), default: 60_000 },
  scale: { name: "WRIT_BACKOFF_SCALE", parse: number({ min: 0, max: 100 }), default: 1 },
  publicEvents: { name: "WRIT_PUBLIC_EVENTS", parse: boolean(), default: false },
  logLevel: { name: "WRIT_LOG_LEVEL", parse: oneOf(["debug", "info", "warn"]), default: "info" as const },
  tags: { name: "WORKER_TAGS", key: "tags", parse: jsonList(), default: [] },
  adminToken: {
    name: "WRIT_ADMIN_TOKEN",
    key: null,
    parse: text({ pattern: /^sk_admin_[\w-]{24,}$/, allowed: "sk_admin_ and at least 24 characters" }),
    default: undefined,
    isSecret: true,
  },
};

describe("loadSettings", () => {
  test.each([
    ["PORT", "65536", 'PORT: "65536" is not allowed; use a whole number from 0 to 65535'],
    ["PORT", "0x10", "PORT"],
    ["PORT", "1e3", "PORT"],
    ["PORT", " 80", "PORT"],
    ["PORT", "80.5", "PORT"],
    ["WRIT_LEASE_MS", "999", "1000 to 3600000"],
    ["WRIT_BACKOFF_SCALE", "-1", "a number from 0 to 100"],
    ["WRIT_BACKOFF_SCALE", "NaN", "a number from 0 to 100"],
    ["WRIT_PUBLIC_EVENTS", "yes", "true or false"],
    ["WRIT_LOG_LEVEL", "loud\nforged line", '"loud\\nforged line"'],
    ["WORKER_TAGS", "gpu", "JSON list"],
    ["WORKER_TAGS", "[1]", "JSON list"],
  ])("refuses %s=%j in one line", (name, value, part) => {
    const message = refusal(() => loadSettings(declared, { env: { [name]: value } }));
    expect(message).toContain(part);
    expect(message).not.toContain("\n");
  });

  test("never shows the value of a secret", () => {
    const message = refusal(() => loadSettings(declared, { env: { WRIT_ADMIN_TOKEN: "sk_admin_short" } }));
    expect(message).toContain("WRIT_ADMIN_TOKEN: ***");
    expect(message).not.toContain("short");
  });

  test("refuses a wrong value in a file, with its line", () => {
    const refuse = (yaml: string): string =>
      refusal(() => loadSettings(declared, { env: {}, file: parseYaml("writ.yaml", yaml) }));
    expect(refuse("port: 80\n\nlease_ms: 5\n")).toBe(
      "writ.yaml:3: lease_ms: 5 is not allowed; use a whole number from 1000 to 3600000",
    );
    expect(refuse("port: 80\nlese_ms: 5000\n")).toContain(
      'writ.yaml:2: unknown key "lese_ms" = 5000 (did you mean lease_ms?); allowed are port',
    );
    expect(refuse("tokne: sk_admin_canary\n")).not.toContain("canary");
    expect(refuse("admin_token: x\n")).toContain("unknown key");
    expect(refuse("public_events: no\n")).toContain('"no" is not allowed; use true or false');
    expect(refuse("lease_ms: 2000\nWRIT_LEASE_MS: 2000\n")).toContain(
      "writ.yaml:2: WRIT_LEASE_MS and lease_ms",
    );
    expect(refuse("lease_ms:\n")).toContain("lease_ms: null is not allowed");
  });

  test("a wrong value is refused even where a stronger source hides it", () => {
    const file = parseYaml("writ.yaml", "port: none\n");
    expect(refusal(() => loadSettings(declared, { flags: { port: 1 }, env: {}, file }))).toContain(
      "writ.yaml:1",
    );
  });

  test("takes the flag before the environment before the file before the default", () => {
    const file = parseYaml("writ.yaml", "port: 1\nlease_ms: 1001\nWRIT_BACKOFF_SCALE: 0.5\ntags: [a, b]\n");
    const env = { PORT: "2", WRIT_LEASE_MS: "1002", WRIT_LOG_LEVEL: "" };
    const values = loadSettings(declared, { flags: { port: "3" }, env, file });
    expect(values).toEqual({
      port: 3,
      leaseMs: 1002,
      scale: 0.5,
      publicEvents: false,
      logLevel: "info",
      tags: ["a", "b"],
      adminToken: undefined,
    });
    expectTypeOf(values.port).toEqualTypeOf<number>();
    expectTypeOf(values.logLevel).toEqualTypeOf<"debug" | "info" | "warn">();
    expectTypeOf(values.adminToken).toEqualTypeOf<string | undefined>();
  });

  test("a parser of one's own names what it allows", () => {
    const even = parser("an even number", (value) => (Number(value) % 2 === 0 ? Number(value) : undefined));
    expect(
      refusal(() =>
        loadSettings({ even: { name: "EVEN", parse: even, default: 0 } }, { env: { EVEN: "3" } }),
      ),
    ).toBe('EVEN: "3" is not allowed; use an even number');
  });
});

describe("loadYamlFile", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "writ-settings-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test.each([
    ["a duplicate key", "a: 1\na: 2\n", 2],
    ["a duplicate key further down", "a:\n  b: 1\n  b: 2\n", 3],
    ["a tag of JavaScript", 'a: 1\nb: !!js/function "x"\n', 2],
    ["a known tag", "a: 1\nb: !!str 5\n", 2],
    ["a tag on a mapping", "a: !x\n  b: 1\n", 1],
    ["a tag on a key", "!!str a: 1\n", 1],
    ["an alias", "a: &x [1]\nb: *x\n", 2],
    ["an alias bomb", bomb(), 2],
    ["a merge key", "a: 1\n<<: {b: 2}\n", 2],
    ["__proto__", "a:\n  __proto__: {b: 2}\n", 2],
    ["__proto__ in quotes", 'a: 1\n"__proto__": 2\n', 2],
    ["a key that is a list", "a: 1\n[b]: 2\n", 2],
    ["two documents", "a: 1\n---\nb: 2\n", 2],
    ["a list at the top", "- a\n", 1],
    ["text at the top", "hello\n", 1],
    ["YAML 1.1", "%YAML 1.1\n---\na: no\n", 1],
    ["broken quotes", 'a: 1\nb: "x', 2],
    ["a tab as indentation", "a:\n\tb: 1\n", 2],
    ["deep nesting", `a: ${"[".repeat(100)}${"]".repeat(100)}\n`, 1],
  ])("I-10: refuses %s with its line", (_name, yaml, line) => {
    const message = refusal(() => parseYaml("f.yaml", yaml));
    expect(message).toMatch(new RegExp(`^f\\.yaml:${line}: `));
    expect(message).not.toContain("\n");
  });

  test("I-10: refuses brackets without end instead of running out of stack", () => {
    expect(refusal(() => parseYaml("f.yaml", `a: ${"[".repeat(200_000)}`))).toContain("f.yaml");
  });

  test.each([0o644, 0o640, 0o604, 0o660, 0o620])(
    "K-06: refuses a private file of mode %i and says chmod 600",
    async (mode) => {
      const path = join(dir, "agents.yaml");
      writeFileSync(path, "a: 1\n");
      chmodSync(path, mode);
      await expect(loadYamlFile(path, { mustBePrivate: true })).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining(`chmod 600 ${path}`),
      });
    },
  );

  test("refuses a file that is missing, a directory, not UTF-8 or far too large", async () => {
    const path = join(dir, "f.yaml");
    const refused = { code: "CONFIG_INVALID" };
    await expect(loadYamlFile(path, { mustBePrivate: false })).rejects.toMatchObject(refused);
    await expect(loadYamlFile(dir, { mustBePrivate: false })).rejects.toMatchObject(refused);
    writeFileSync(path, Buffer.from([0x61, 0x3a, 0x20, 0xff]));
    await expect(loadYamlFile(path, { mustBePrivate: false })).rejects.toMatchObject(refused);
    writeFileSync(path, "#".repeat(1024 * 1024 + 1));
    await expect(loadYamlFile(path, { mustBePrivate: false })).rejects.toMatchObject(refused);
  });

  test("reads YAML 1.2 with the line of every key", async () => {
    const path = join(dir, "f.yaml");
    writeFileSync(path, "a: no\nb:\n  - c: 1\n    d: 0o17\n  - yes\n# end\ne: null\n", { mode: 0o600 });
    const file = await loadYamlFile(path, { mustBePrivate: true });
    expect(file.data).toEqual({ a: "no", b: [{ c: 1, d: 15 }, "yes"], e: null });
    expect(file.lineOf(["b", 0, "d"])).toBe(4);
    expect(file.lineOf(["b", 1])).toBe(5);
    expect(file.lineOf(["e"])).toBe(7);
    expect(file.lineOf(["f"])).toBeUndefined();
    expect(parseYaml("f", "").data).toEqual({});
    expect(parseYaml("f", "# only a comment\n").data).toEqual({});
  });
});

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    return (error as Error).message;
  }
  throw new Error("was not refused");
}

function bomb(): string {
  const levels = Array.from(
    { length: 20 },
    (_, n) => `a${n + 1}: &x${n + 1} [${Array(9).fill(`*x${n}`).join(",")}]`,
  );
  return ["a0: &x0 lol", ...levels, ""].join("\n");
}
