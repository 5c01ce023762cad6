import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  frame,
  homeEntry,
  mountFlag,
  mountKind,
  openHow,
  outputEnd,
  protect,
  protocol,
  rights,
  tag,
} from "./launcher-protocol.ts";

const header = readFileSync(new URL("../../../launcher/protocol.h", import.meta.url), "utf8").replaceAll(
  /\/\*[\s\S]*?\*\//g,
  "",
);

/** The values of C that occur in the header: whole numbers, products, shifts, and one shift less one. */
function numberIn(text: string): number {
  const plain = text.replaceAll(/(\d)u\b/g, "$1").replaceAll(/[()\s]/g, "");
  const shift = /^1<<(\d+)(-1)?$/.exec(plain);
  if (shift !== null) return (1 << Number(shift[1])) - (shift[2] === undefined ? 0 : 1);
  if (!/^\d+(\*\d+)*$/.test(plain)) throw new Error(`cannot read ${text}`);
  return plain.split("*").reduce((product, factor) => product * Number(factor), 1);
}

function enumOf(name: string, prefix: string): Record<string, number> {
  const body = new RegExp(`enum ${name} \\{([^}]*)\\}`).exec(header)![1]!;
  const lines = [...body.matchAll(/(\w+) = ([^,]+)/g)];
  return Object.fromEntries(lines.map(([, key, value]) => [key!.slice(prefix.length), numberIn(value!)]));
}

test("the numbers on both sides of the wire are the same", () => {
  const defines = [...header.matchAll(/^#define (\w+) (.+)$/gm)].map(([, key, value]) => [
    key,
    numberIn(value!),
  ]);
  expect(Object.fromEntries(defines)).toEqual(protocol);
  expect(enumOf("frame_type", "FRAME_")).toEqual(frame);
  expect(enumOf("field_tag", "TAG_")).toEqual(tag);
  expect(enumOf("protection", "PROTECT_")).toEqual(protect);
  expect(enumOf("mount_kind", "MOUNT_")).toEqual(mountKind);
  expect(enumOf("mount_flag", "MOUNT_")).toEqual(mountFlag);
  expect(enumOf("cage_rights", "RIGHTS_")).toEqual(rights);
  expect(enumOf("home_entry", "HOME_")).toEqual(homeEntry);
  expect(enumOf("open_how", "OPEN_")).toEqual(openHow);
  expect(enumOf("output_end", "OUTPUT_")).toEqual(outputEnd);
});
