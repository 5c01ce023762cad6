import { expect, test } from "vitest";
import { diffStat } from "./diff-stat.ts";

const diff = `diff --git a/src/a.ts b/src/a.ts
index 1111111..2222222 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@
 one
-two
+diff --git a/evil b/evil
+--- a/evil
 three
\\ No newline at end of file
@@ -10 +11 @@ function
-ten
+@@ -1,100 +1,100 @@
diff --git a/with b/ space.txt b/with b/ space.txt
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/with b/ space.txt\t
@@ -0,0 +1,2 @@
+x
+y
diff --git "a/tab\\there \\303\\244" "b/tab\\there \\303\\244"
deleted file mode 100644
index 1111111..0000000
--- "a/tab\\there \\303\\244"
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
GIT binary patch
literal 5
McmZQz7ykeN0u2BF
literal 0
HcmV?d00001

diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`;

test("the lines of every file are counted, and what looks like a header inside a hunk is a line", () => {
  expect(diffStat(diff)).toEqual([
    { path: "src/a.ts", added: 3, removed: 2, isBinary: false },
    { path: "with b/ space.txt", added: 2, removed: 0, isBinary: false },
    { path: "tab\there ä", added: 0, removed: 1, isBinary: false },
    { path: "logo.png", added: 0, removed: 0, isBinary: true },
    { path: "run.sh", added: 0, removed: 0, isBinary: false },
  ]);
});

test("an empty diff has no files", () => {
  expect(diffStat("")).toEqual([]);
});
