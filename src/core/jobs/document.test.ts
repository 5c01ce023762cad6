import { expect, test } from "vitest";
import { onDisconnectOf } from "./document.ts";

test("a job continues while the hub is away, unless its document asks to stop or it changes files in place", () => {
  const exec = { run: { kind: "exec" } };
  const delegate = { run: { kind: "delegate" } };
  expect(onDisconnectOf(exec)).toBe("keep");
  expect(onDisconnectOf({ ...exec, on_disconnect: "stop" })).toBe("stop");
  expect(onDisconnectOf(delegate)).toBe("keep");
  const inPlace = { run: { kind: "delegate", mode: "in-place" } };
  expect(onDisconnectOf(inPlace)).toBe("stop");
  expect(onDisconnectOf({ ...inPlace, on_disconnect: "keep" })).toBe("keep");
});

test("an act that is unknown here is a stop", () => {
  expect(onDisconnectOf({ run: { kind: "exec" }, on_disconnect: "pause" })).toBe("stop");
});
