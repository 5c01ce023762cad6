import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { deployDir } from "./compose-file.ts";

type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: { template?: { spec: { containers: object[] } } };
};

const checkout = join(deployDir, "..");
const folder = join(deployDir, "kubernetes");
const manifests = globSync("*.yaml", { cwd: folder }).flatMap((file) =>
  // As clusters read it; 0400 would be another number than in YAML 1.2.
  parseAllDocuments(readFileSync(join(folder, file), "utf8"), { version: "1.1" }).map((document) => ({
    file,
    manifest: document.toJS() as Manifest,
  })),
);
const moduleOf = ({ apiVersion, kind }: Manifest): string => `kubernetes-models/${apiVersion}/${kind}`;

/** The package's validators check values, and its types know all fields: a wrong name is an error of the compiler. */
async function problemsOf(manifest: Manifest): Promise<string> {
  try {
    const models = (await import(moduleOf(manifest))) as Record<string, new (data: object) => Checked>;
    new models[manifest.kind]!(manifest).validate();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}
type Checked = { validate(): void };

function fieldProblems(all: readonly Manifest[]): string {
  mkdirSync(join(checkout, "node_modules/.writ"), { recursive: true });
  const dir = mkdtempSync(join(checkout, "node_modules/.writ/manifests-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const lines = all.map(
    (manifest, n) =>
      `export const m${n}: import("${moduleOf(manifest)}").I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  writeFileSync(join(dir, "manifests.ts"), lines.join("\n"));
  const flags = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--module",
    "nodenext",
    "--target",
    "es2022",
  ];
  const tsc = join(checkout, "node_modules/typescript/bin/tsc");
  try {
    return execFileSync(process.execPath, [tsc, ...flags, "--types", "", "manifests.ts"], {
      cwd: dir,
      encoding: "utf8",
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test("a wrong value and a wrong name of a field are found", async () => {
  const service = { apiVersion: "v1", kind: "Service", metadata: { name: "hub" } };
  expect(await problemsOf({ ...service, spec: { ports: [{ port: "many" }] } } as Manifest)).toContain("port");
  expect(fieldProblems([{ ...service, spec: { prots: [] } } as Manifest])).toContain(
    `"prots"' does not exist`,
  );
});

test.each(manifests)(
  "$file: $manifest.kind $manifest.metadata.name has only valid values",
  async ({ manifest }) => {
    expect(await problemsOf(manifest)).toBe("");
  },
);

test("the manifests have no field that Kubernetes does not know", () => {
  expect(fieldProblems(manifests.map(({ manifest }) => manifest))).toBe("");
});

test("everything is in one of the two namespaces, and every program has probes, requests and a limit of memory", () => {
  const namespaces = ["writ", "writ-workers"];
  for (const { manifest } of manifests) {
    const { kind, metadata, spec } = manifest;
    expect(namespaces).toContain(kind === "Namespace" ? metadata.name : metadata.namespace);
    for (const container of spec?.template?.spec.containers ?? [])
      expect(container).toMatchObject({
        livenessProbe: {},
        securityContext: {},
        resources: { requests: {}, limits: { memory: expect.any(String) } },
      });
  }
  expect(manifests.filter(({ manifest }) => manifest.spec?.template !== undefined)).toHaveLength(2);
});

test("the example of a Secret holds none", () => {
  const secrets = manifests.filter(({ manifest }) => manifest.kind === "Secret");
  expect(secrets.map(({ manifest }) => manifest)).toMatchObject([{ stringData: { "agents.yaml": "" } }]);
});
