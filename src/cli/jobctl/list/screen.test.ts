import { expect, test } from "vitest";
import type { CliContext } from "../../context.ts";
import { cut, Screen } from "./screen.ts";

function open(size: { columns?: number; rows?: number }) {
  let shown = "";
  const write = (text: string): boolean => {
    shown += text;
    return true;
  };
  const stdout = { ...size, isTTY: true, write, on: () => stdout, off: () => stdout };
  const screen = new Screen({ stdout, stdin: {} } as unknown as CliContext);
  return {
    screen,
    take: () => {
      const text = shown;
      shown = "";
      return text;
    },
  };
}

test("a line is cut to what fits, and a colour that was begun is ended", () => {
  expect(cut("0123456789", 4)).toBe("0123\x1b[0m");
  expect(cut("\x1b[31mred\x1b[39m", 3)).toBe("\x1b[31mred\x1b[39m");
  expect(cut("\x1b[31mred\x1b[39m", 2)).toBe("\x1b[31mre\x1b[0m");
});

test("what has not changed is not drawn again", () => {
  const { screen, take } = open({ columns: 80, rows: 24 });
  screen.draw(["one"]);
  expect(take()).toContain("one");
  screen.draw(["one"]);
  expect(take()).toBe("");
  screen.draw(["two"]);
  expect(take()).toContain("two");
});

test("no more lines are drawn than the terminal has", () => {
  const { screen, take } = open({ columns: 80, rows: 3 });
  screen.draw(["a1", "b2", "c3", "d4"]);
  expect(take()).not.toContain("c3");
});

test("a terminal without a size is taken for an ordinary one", () => {
  const { screen, take } = open({ columns: 0, rows: 0 });
  screen.draw(["one"]);
  expect(take()).toContain("one");
});

test("the other screen is left as it was found", () => {
  const { screen, take } = open({});
  screen.open(() => {});
  screen.close();
  expect(take()).toBe("\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l");
});
