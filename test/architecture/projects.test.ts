import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import config from "../../vitest.config.ts";
import longConfig from "../../vitest.long.config.ts";

type Project = { name: string; include: string[]; exclude?: string[] };

const cwd = join(import.meta.dirname, "../..");

test("every test file runs in exactly one project, or is a long one; some run once more on PostgreSQL", () => {
  const files = globSync("{src,test}/**/*.test.ts", { cwd, exclude: ["test/kernel/**"] }).sort();
  expect(files.length).toBeGreaterThan(100);
  const projects = [...config.test!.projects!, longConfig];
  const taken = projects.flatMap((project) => {
    const { name, include, exclude = [] } = (project as { test: Project }).test;
    return name.startsWith("postgres") ? [] : globSync(include, { cwd, exclude });
  });
  expect(taken.sort()).toEqual(files);
});
