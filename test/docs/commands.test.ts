import { expect, test } from "vitest";
import { commandReference } from "./command-reference.ts";
import { root } from "./page.ts";

test("C11: docs/commands.md has every command and option of our programs", async () => {
  const page = await commandReference();
  for (const known of ["### jobctl run", "### writ tokens issue", "`--json`"]) expect(page).toContain(known);
  await expect(page).toMatchFileSnapshot(`${root}/docs/commands.md`);
});
