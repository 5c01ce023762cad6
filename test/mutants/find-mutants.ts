import { parseSync } from "vite";
import { type Edit, type Mutant, mutantsBy } from "./mutant.ts";

/** What is needed of a node of the syntax tree; every kind has more. */
type Node = { type: string; start: number; end: number } & Record<string, unknown>;

/**
 * Every way in which a decision of this file can be taken away: a refusal that is never made, a condition without one of
 * its parts, a choice that is always the same, a call that checks and is not made.
 */
export function findMutants(path: string, source: string): Mutant[] {
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const edits: Edit[] = [];
  visit(program as unknown as Node, (node) => edits.push(...editsOf(node, source)));
  return mutantsBy(path, source, edits);
}

function editsOf(node: Node, source: string): Edit[] {
  if (node.type === "IfStatement" && leaves(node["consequent"] as Node)) {
    const test = node["test"] as Node;
    return [replaced(test, "false", "never"), ...withoutParts(test, source)];
  }
  if (node.type === "ReturnStatement" && node["argument"] !== null)
    return ofAnswer(node["argument"] as Node, source);
  if (node.type === "ArrowFunctionExpression" && node["expression"] === true)
    return ofAnswer(node["body"] as Node, source);
  if (node.type === "VariableDeclarator" && node["init"] !== null)
    return withoutParts(node["init"] as Node, source);
  if (node.type === "ExpressionStatement" && isCheck(node["expression"] as Node))
    return [replaced(node, "{}", "not called")];
  return [];
}

/** Whether a branch does nothing but leave its function or its turn of a loop. */
function leaves(branch: Node): boolean {
  const statements = branch.type === "BlockStatement" ? (branch["body"] as Node[]) : [branch];
  const last = statements.at(-1)?.type;
  return last === "ThrowStatement" || last === "ReturnStatement" || last === "ContinueStatement";
}

function ofAnswer(answer: Node, source: string): Edit[] {
  if (answer.type === "BinaryExpression" && comparisons.includes(answer["operator"] as string))
    return [replaced(answer, "true", "always"), replaced(answer, "false", "never")];
  if (answer.type !== "ConditionalExpression") return withoutParts(answer, source);
  const { consequent, alternate } = answer as unknown as { consequent: Node; alternate: Node };
  return [
    replaced(answer, textOf(consequent, source), "always the first"),
    replaced(answer, textOf(alternate, source), "always the second"),
    ...withoutParts(answer["test"] as Node, source),
  ];
}

const comparisons = ["===", "!==", "<", "<=", ">", ">="];

/** Of `a && b` and `a || b`, each alone; parts of parts likewise. */
function withoutParts(node: Node, source: string): Edit[] {
  if (node.type === "ParenthesizedExpression") return withoutParts(node["expression"] as Node, source);
  if (node.type !== "LogicalExpression" || node["operator"] === "??") return [];
  const { left, right } = node as unknown as { left: Node; right: Node };
  return [
    { start: node.start, end: node.end, by: textOf(right, source), how: `without ${oneLine(left, source)}` },
    { start: node.start, end: node.end, by: textOf(left, source), how: `without ${oneLine(right, source)}` },
    ...withoutParts(left, source),
    ...withoutParts(right, source),
  ];
}

/** Calls made only because they may throw. */
function isCheck(expression: Node): boolean {
  const call = expression.type === "AwaitExpression" ? (expression["argument"] as Node) : expression;
  if (call.type !== "CallExpression") return false;
  const callee = call["callee"] as Node;
  const name = (callee.type === "MemberExpression" ? callee["property"] : callee) as Node;
  return /^#?(?:check|assert|refuse|require|verify|demand|deny)/.test(String(name["name"]));
}

function replaced(node: Node, by: string, how: string): Edit {
  return { start: node.start, end: node.end, by, how };
}

function textOf({ start, end }: Node, source: string): string {
  return `(${source.slice(start, end)})`;
}

function oneLine({ start, end }: Node, source: string): string {
  return source.slice(start, end).replace(/\s+/g, " ");
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null && "type" in child && "start" in child)
        visit(child as Node, look);
    }
  }
}
