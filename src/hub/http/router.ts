/** The target of a path and method, or else the methods that the path has: none if there is no such path. */
type Match<Target> =
  | { target: Target; params: Readonly<Record<string, string>> }
  | { target: null; allow: readonly string[] };

/**
 * Finds the target of a request by method and path. Patterns are a tree of the parts between slashes. A part such as
 * `:id` stands for any one part that is not empty, and `:key*` at the end for all that follow. Fixed parts come first:
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

  /** HEAD finds the route of GET. The `*` of a request about the whole server is no path. */
  look(method: string, path: string): Match<Target> {
    if (!path.startsWith("/")) return { target: null, allow: [] };
    const requested = { method: method === "HEAD" ? "GET" : method, parts: path.slice(1).split("/") };
    const collected: Collected = { values: [], allow: [] };
    const end = find(this.#root, requested, collected);
    if (end === null) return { target: null, allow: [...new Set(collected.allow)] };
    return { target: end.target, params: paramsOf(end.names, collected.values) };
  }
}

type End<Target> = { target: Target; names: readonly string[] };

type Node<Target> = {
  /** The targets of the path that ends here, by method. */
  ends: Map<string, End<Target>>;
  fixed: Map<string, Node<Target>>;
  /** The node for any part. */
  any: Node<Target> | null;
  /** The node for all remaining parts. */
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

type RequestedPath = { method: string; parts: readonly string[] };
type Collected = { values: string[]; allow: string[] };

/** The first end that has the method; other methods of the path are collected. The depth is bounded by the patterns. */
function find<Target>(
  node: Node<Target>,
  requested: RequestedPath,
  collected: Collected,
  index = 0,
): End<Target> | null {
  const { parts } = requested;
  if (index === parts.length) return endOf(node, requested, collected);
  const part = parts[index]!;
  const fixed = node.fixed.get(part);
  const end = fixed === undefined ? null : find(fixed, requested, collected, index + 1);
  if (end !== null || part === "") return end;
  const { values } = collected;
  const before = values.length;
  if (node.any !== null) {
    values.push(part);
    const found = find(node.any, requested, collected, index + 1);
    if (found !== null) return found;
    values.length = before;
  }
  if (node.rest === null) return null;
  values.push(parts.slice(index).join("/"));
  return endOf(node.rest, requested, collected);
}

function endOf<Target>(
  { ends }: Node<Target>,
  { method }: RequestedPath,
  { allow }: Collected,
): End<Target> | null {
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

/** An invalid encoding stays unchanged: the route's shape refuses it and names it. */
function decoded(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    // See above.
    return value;
  }
}
