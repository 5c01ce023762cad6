import { expect, test } from "vitest";
import type { CliContext } from "../../context.ts";
import { statText } from "./diff.ts";
import { diffStat } from "./diff-stat.ts";

test("the summary shows every character of a name, so that no file passes for another one", () => {
  const context = { stdout: { isTTY: false }, env: {} } as unknown as CliContext;
  const files = diffStat(
    'diff --git "a/src/greet\\033[31ming.txt" "b/src/greet\\033[31ming.txt"\nnew file mode 100644\n',
  );
  expect(statText(context, files)).toBe("  src/greet\\x1b[31ming.txt  +0 -0\n1 file changed, +0 -0\n");
});
