/** What was found at a path for a method, or the methods that the path has instead: none if there is no such path. */
type Look<Target> =
  | { target: Target; params: Readonly<Record<string, string>> }
  | { target: null; allow: readonly string[] };

/**
 * Finds what answers a request, by method and path. Patterns are a tree of the parts between slashes. A part such as `:id`
 * stands for any one part that is not empty, and `:key*` at the end for all that follow. Fixed parts come first:
 * `/jobs/pending` is not a job called "pending", unless only the latter has the method. Why: ADR 0112.
 */
export class Router<Target> {
  readonly #root: Node<Target> = newNode();

  add(method: string, pattern: string, target: Target): void {
    const names: string[] = [];
    let node = this.#root;
    for (const part of pattern.slice(1).split("/")) {
      if (part.startsWith(":")) names.push(part.slice(1).replace(/\*$/, ""));
      node = childFor(node, part);
    }
    if (node.ends.has(method)) throw new Error(`${method} ${pattern} is in the table twice`);
    node.ends.set(method, { target, names });
  }

  /** A HEAD finds what a GET finds. The `*` of a request about the whole server is no path. */
  look(method: string, path: string): Look<Target> {
    if (!path.startsWith("/")) return { target: null, allow: [] };
    const asked = { method: method === "HEAD" ? "GET" : method, parts: path.slice(1).split("/") };
    const noted: Noted = { values: [], allow: [] };
    const end = find(this.#root, asked, noted);
    if (end === null) return { target: null, allow: [...new Set(noted.allow)] };
    return { target: end.target, params: paramsOf(end.names, noted.values) };
  }
}

type End<Target> = { target: Target; names: readonly string[] };

type Node<Target> = {
  /** By method: what is served at the path that ends here. */
  ends: Map<string, End<Target>>;
  fixed: Map<string, Node<Target>>;
  /** Where any part leads. */
  any: Node<Target> | null;
  /** Where all the parts that are left lead. */
  rest: Node<Target> | null;
};

function newNode<Target>(): Node<Target> {
  return { ends: new Map(), fixed: new Map(), any: null, rest: null };
}

function childFor<Target>(node: Node<Target>, part: string): Node<Target> {
  const kind = !part.startsWith(":") ? "fixed" : part.endsWith("*") ? "rest" : "any";
  if (kind !== "fixed") {
    node[kind] ??= newNode();
    return node[kind];
  }
  const child = node.fixed.get(part) ?? newNode<Target>();
  node.fixed.set(part, child);
  return child;
}

type Asked = { method: string; parts: readonly string[] };
type Noted = { values: string[]; allow: string[] };

/** The first end that has the method; what the path has for other methods is noted. It goes no deeper than the patterns. */
function find<Target>(node: Node<Target>, asked: Asked, noted: Noted, index = 0): End<Target> | null {
  const { parts } = asked;
  if (index === parts.length) return endOf(node, asked, noted);
  const part = parts[index]!;
  const fixed = node.fixed.get(part);
  const end = fixed === undefined ? null : find(fixed, asked, noted, index + 1);
  if (end !== null || part === "") return end;
  const { values } = noted;
  const before = values.length;
  if (node.any !== null) {
    values.push(part);
    const found = find(node.any, asked, noted, index + 1);
    if (found !== null) return found;
    values.length = before;
  }
  if (node.rest === null) return null;
  values.push(parts.slice(index).join("/"));
  return endOf(node.rest, asked, noted);
}

function endOf<Target>({ ends }: Node<Target>, { method }: Asked, { allow }: Noted): End<Target> | null {
  const end = ends.get(method);
  if (end === undefined) allow.push(...ends.keys());
  return end ?? null;
}

const noParams = Object.freeze({});

function paramsOf(names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return noParams;
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) params[name] = decoded(values[index]!);
  return params;
}

/** What is not a valid encoding is left as it is: the route's shape refuses it and names it. */
function decoded(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
