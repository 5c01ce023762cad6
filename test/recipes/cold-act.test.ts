import { afterAll, expect, test } from "vitest";
import { noPostgres } from "../support/postgres-cluster.ts";
import { CheckoutCopy } from "./checkout-copy.ts";
import { readRecipe } from "./read-recipe.ts";

const copy = new CheckoutCopy(["src", "test", "package.json", "tsconfig.json", "vitest.config.ts"]);
afterAll(() => copy.remove());

const [signature, kind, act, contractCase, scene] = readRecipe("cold-act");

const drivers = ["src/store/sqlite/acts.ts", "src/store/postgres/transaction/write-acts.ts"];
const checkTypes = () =>
  copy.checkTypes(...drivers, "test/store-contract/describe-access.ts", "test/exhaustive/scenes.ts");

test("with its signature alone, the type checker asks where it is done, and both drivers ask for it", async () => {
  copy.edit("src/store/access-store.ts", "  /** Opens a session", `${signature}  /** Opens a session`);
  const complaints = await checkTypes();
  for (const file of ["src/store/act-names.ts", ...drivers])
    expect(complaints).toMatch(new RegExp(`^${file}.*revokeTokensOf`, "m"));
});

test("with the other steps it is content", async () => {
  copy.edit("src/store/act-names.ts", '  createSession: "write",\n', `${kind}  createSession: "write",\n`);
  copy.edit("src/store/acts/token-acts.ts", "/** Its sessions end", `${act}\n/** Its sessions end`);
  const acts = "src/store/acts/cold-acts.ts";
  copy.edit(acts, "refreshToken, revokeToken }", "refreshToken, revokeToken, revokeTokensOf }");
  copy.edit(acts, "  revokeToken,\n", "  revokeToken,\n  revokeTokensOf,\n");
  const described = '    it("are cleared away when';
  copy.edit("test/store-contract/describe-access.ts", described, `${contractCase}\n${described}`);
  copy.edit("test/exhaustive/access-scenes.ts", "  refreshToken: {", `${scene}  refreshToken: {`);
  expect(await checkTypes()).toBe("");
});

test("both drivers run it", async () => {
  const suites = ["sqlite-without-thread", ...(noPostgres === undefined ? ["postgres"] : [])];
  const files = suites.map((name) => `test/store-contract/${name}.test.ts`);
  const answers = await copy.runTests(...files, "-t", "of one person are revoked at once");
  const ran = answers.filter(({ name }) =>
    name.endsWith("of one person are revoked at once, and each is told once"),
  );
  expect(ran.map(({ words }) => words)).toEqual(suites.map(() => ""));
  expect(ran.filter(({ passed }) => passed).length).toBe(suites.length);
});
