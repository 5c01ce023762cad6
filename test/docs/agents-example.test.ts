import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { makeAuthority } from "../../src/hub/certs/make-certificate.ts";
import { agentsShape } from "../../src/worker/agents-file/agents-shape.ts";
import { explainSettings } from "../../src/worker/doctor.ts";
import { loadWorkerSettings } from "../../src/worker/settings.ts";
import { readText } from "./page.ts";

const page = "examples/agents.yaml";

test("the example has every key of agents.yaml, and a comment on each", () => {
  const known = keysOf(agentsShape);
  expect(known).toContain("execution.agents[].env_from_worker");
  expect(known.length).toBeGreaterThan(50);
  const text = readText(page);
  const used = new Set(pathsIn(parse(text)));
  // Of two keys that exclude each other, one is in a comment.
  const commented = [...text.matchAll(/^ *# (\w+): /gm)].map(([, key]) => key);
  const missing = known.filter((path) => !used.has(path) && !commented.includes(path.split(".").at(-1)));
  expect(missing, `${page} lacks these keys`).toEqual([]);
});

test("a key that the example does not have is found", () => {
  const used = pathsIn(parse(readText(page).replace("backup_count", "x")));
  expect(keysOf(agentsShape).filter((path) => !used.includes(path))).toContain("logging.backup_count");
});

test("the example is a file that a worker reads, and every part of it means something", async () => {
  const dir = mkdtempSync(join(tmpdir(), "writ-example-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const configFile = join(dir, "agents.yaml");
  for (const name of ["openrouter.key", "api.key"]) writeFileSync(join(dir, name), "CANARY", { mode: 0o600 });
  writeFileSync(join(dir, "ca.crt"), (await makeAuthority(Date.now())).certPem);
  writeFileSync(configFile, readText(page).replace("replace_me", "CANARY"));
  chmodSync(configFile, 0o600);
  const settings = await loadWorkerSettings({ configFile, env: { HOME: dir }, home: dir, hostName: "host" });
  const says = await explainSettings(settings, dir);
  const topics = new Set(says.map(({ check }) => check));
  expect([...topics].sort()).toEqual(
    [
      "agents",
      "changes",
      "containers",
      "files",
      "forbidden",
      "repos",
      "handlers",
      "hub",
      "isolation",
      "jobs",
      "keys",
      "limits",
    ]
      .concat(["log", "models", "network", "secrets", "solvers", "worker"])
      .sort(),
  );
  expect(JSON.stringify(says)).not.toContain("CANARY");
});

type Shape = {
  _zod: { def: { type: string; shape?: object; element?: Shape; innerType?: Shape; valueType?: Shape } };
};

/** Every key that the shape knows: `a.b`, in lists `a[].b`, and under names that the user chooses `a.*.b`. */
function keysOf(shape: unknown, path = ""): string[] {
  const { shape: fields, element, innerType, valueType } = (shape as Shape)._zod.def;
  if (innerType !== undefined) return keysOf(innerType, path);
  if (element !== undefined) return keysOf(element, `${path}[]`);
  if (valueType !== undefined) return keysOf(valueType, `${path}.*`);
  return Object.entries(fields ?? {}).flatMap(([key, field]) => {
    const own = path === "" ? key : `${path}.${key}`;
    return [own, ...keysOf(field, own)];
  });
}

const namedByUser = ["execution.handlers", "execution.secrets", "execution.containers"];

function pathsIn(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const own = namedByUser.includes(path) ? `${path}.*` : path === "" ? key : `${path}.${key}`;
    return [own, ...pathsIn(field, own)];
  });
}
