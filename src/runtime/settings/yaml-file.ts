import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
} from "yaml";
import { WritError } from "../../core/errors.ts";
import { readSmallFile } from "../files/private-file.ts";

export type YamlPath = readonly (string | number)[];

export type YamlFile = {
  path: string;
  /** A mapping, empty for an empty file. */
  data: Record<string, unknown>;
  /** The line of this key, counted from 1. */
  lineOf(path: YamlPath): number | undefined;
};

/**
 * Reads a settings file in the small part of YAML that means what it looks like: YAML 1.2, so `no` stays a string, and
 * no tags, aliases, merge keys or duplicate keys, which can all make a file mean something else than a reader sees.
 */
export async function loadYamlFile(path: string, rules: { mustBePrivate: boolean }): Promise<YamlFile> {
  const text = await readSmallFile(path, rules);
  if (text === null) throw new WritError("CONFIG_INVALID", `${path} does not exist`);
  return parseYaml(path, text);
}

/**
 * With `numberOf`, a number becomes what that function makes of its text, for callers that need it as it was written.
 */
export function parseYaml(
  path: string,
  text: string,
  { numberOf }: { numberOf?: (source: string) => unknown } = {},
): YamlFile {
  const lines = new LineCounter();
  const document = compose(path, text, lines);
  const reading: YamlReading = { path, lines, numberOf, found: new Map() };
  refuseBrokenDocument(reading, document);
  const root = document.contents as ParsedNode | null;
  const isEmpty = root === null || (isScalar(root) && root.value === null);
  if (!isEmpty && !isMap(root)) throw refusal(reading, root, "must be a mapping of keys to values");
  if (root !== null) visitNode(reading, root, []);
  return {
    path,
    data: isEmpty ? {} : (document.toJS({ maxAliasCount: 0 }) as Record<string, unknown>),
    lineOf: (keys) => reading.found.get(JSON.stringify(keys)),
  };
}

type YamlReading = {
  path: string;
  lines: LineCounter;
  numberOf: ((source: string) => unknown) | undefined;
  found: Map<string, number>;
};

// No setting is nested deeper; the bound keeps the recursion below from overflowing the stack.
const depthMax = 32;

function compose(path: string, text: string, lineCounter: LineCounter): Document.Parsed {
  try {
    return parseDocument(text, {
      version: "1.2",
      schema: "core",
      merge: false,
      strict: true,
      uniqueKeys: true,
      stringKeys: true,
      resolveKnownTags: false,
      // With "silent" the parser would also ignore a second document.
      logLevel: "error",
      prettyErrors: false,
      lineCounter,
    });
  } catch {
    // The parser recurses, so a file that consists of brackets ends in a stack overflow.
    throw new WritError("CONFIG_INVALID", `${path} is nested too deeply to be read`);
  }
}

function refuseBrokenDocument(reading: YamlReading, document: Document.Parsed): void {
  // A "%YAML 1.1" line would turn `no` into false again.
  if (document.directives.yaml.explicit) {
    throw new WritError("CONFIG_INVALID", `${reading.path}:1: directives such as %YAML are not allowed`);
  }
  const [problem] = [...document.errors, ...document.warnings];
  if (problem === undefined) return;
  const { line } = reading.lines.linePos(problem.pos[0]);
  throw new WritError("CONFIG_INVALID", `${reading.path}:${line}: ${firstLine(problem.message)}`);
}

function visitNode(reading: YamlReading, node: Node, path: YamlPath): void {
  if (path.length > depthMax) throw refusal(reading, node, `is nested deeper than ${depthMax} levels`);
  if (isAlias(node))
    throw refusal(reading, node, `alias *${node.source} is not allowed; write the value out`);
  if (node.tag !== undefined) throw refusal(reading, node, `tag ${node.tag} is not allowed`);
  if (isScalar(node) && typeof node.value === "number" && reading.numberOf !== undefined)
    node.value = reading.numberOf(node.source ?? String(node.value));
  if (isSeq(node)) {
    node.items.forEach((item, index) => {
      note(reading, item as Node, [...path, index]);
      visitNode(reading, item as Node, [...path, index]);
    });
  }
  if (isMap(node))
    for (const pair of node.items) visitPair(reading, pair.key as Node, pair.value as Node | null, path);
}

function visitPair(reading: YamlReading, key: Node, value: Node | null, path: YamlPath): void {
  visitNode(reading, key, path);
  const name = isScalar(key) ? key.value : undefined;
  if (typeof name !== "string") throw refusal(reading, key, "keys must be plain text");
  if (name === "<<" || name === "__proto__") throw refusal(reading, key, `key ${name} is not allowed`);
  const keyPath = [...path, name];
  note(reading, key, keyPath);
  if (value !== null) visitNode(reading, value, keyPath);
}

function note(reading: YamlReading, node: Node, path: YamlPath): void {
  reading.found.set(JSON.stringify(path), lineOfNode(reading, node));
}

function refusal(reading: YamlReading, node: Node, what: string): WritError {
  return new WritError("CONFIG_INVALID", `${reading.path}:${lineOfNode(reading, node)}: ${what}`);
}

function lineOfNode(reading: YamlReading, node: Node): number {
  return reading.lines.linePos(node.range?.[0] ?? 0).line;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}
