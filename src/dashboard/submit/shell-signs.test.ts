import { expect, test } from "vitest";
import { shellSigns } from "./shell-signs.ts";

test("O-30 shellSigns finds what only a shell interprets", () => {
  expect(shellSigns("cat a.txt | grep x > out && echo $HOME")).toEqual(["|", ">", "&&", "$HOME"]);
  expect(shellSigns("ls *.png")).toEqual(["*"]);
  expect(shellSigns('echo "$(date)" `id`')).toEqual(["$(", "`"]);
  expect(shellSigns("cp ~/a ./b; true")).toEqual(["~", ";"]);
  expect(shellSigns("first\nsecond\n")).toEqual(["a line break"]);
});

test("O-30 shellSigns finds nothing in plain words and quoted text", () => {
  for (const line of [
    "python3 -m tiles --zoom 0-14",
    "sh -c 'a | b > $C'",
    "echo 5\\$",
    "curl 'http://x/?a=1&b=2'",
    'curl "http://x/?a=1&b=2"',
  ])
    expect(shellSigns(line), line).toEqual([]);
  expect(shellSigns("a=~b price$ ")).toEqual([]);
});
