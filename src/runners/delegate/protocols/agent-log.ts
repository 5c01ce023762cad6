import { isAbsolute, relative } from "node:path";
import { type AgentCall, type AgentUse, messageTool } from "../../../core/agents/agent-use.ts";
import { type JsonRecord, recordOf, textOf } from "./json-record.ts";
import type { AgentFact } from "./protocol.ts";

/** So many calls and messages of an attempt are told one by one; the others are only counted. */
const callsMax = 500;
const idCharsMax = 200;
const toolCharsMax = 100;
const titleCharsMax = 300;
const pathCharsMax = 500;
const answerCharsMax = 100_000;

type Options = {
  /** What the agent sees as its repository: paths in it are told relative to it. */
  root: string;
  /** Without secrets. */
  mask(text: string): string;
  /** Called with each call that is new or has changed. */
  onCall(call: AgentCall): void;
  /** Called after each fact. */
  onUse?(use: AgentUse): void;
};

/** Counts what an agent tells, and describes each of its calls in a few words. Why: ADR 0132. */
export class AgentLog {
  readonly #options: Options;
  /** By the agent's own ids. */
  readonly #calls = new Map<string, AgentCall>();
  #told = 0;
  #toolCalls = 0;
  #denied = 0;
  #tokensIn = 0;
  #tokensOut = 0;
  #costMicroUsd: number | undefined;
  #session: string | undefined;
  #model: string | undefined;
  /** The newest turn, which is replaced when it is told again. */
  #turn: { id: string; tokensIn: number; tokensOut: number } | undefined;
  #answer = "";
  /** The message that pieces continue. */
  #message: AgentCall | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  get use(): AgentUse {
    return {
      tool_calls: this.#toolCalls,
      denied: this.#denied,
      tokens_in: this.#tokensIn,
      tokens_out: this.#tokensOut,
      ...(this.#costMicroUsd === undefined ? {} : { cost_micro_usd: this.#costMicroUsd }),
      ...(this.#session === undefined ? {} : { session_id: this.#session }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
    };
  }

  /** What it wrote last, which is its answer if it gives no other; empty if it wrote nothing. */
  get answer(): string {
    return this.#answer;
  }

  note(fact: AgentFact): void {
    if (fact.kind === "called") this.#message = undefined;
    switch (fact.kind) {
      case "session":
        this.#session = cut(fact.id ?? this.#session ?? "", 200) || undefined;
        this.#model = cut(fact.model ?? this.#model ?? "", 200) || undefined;
        break;
      case "called":
        this.#called(fact);
        break;
      case "answered":
        this.#answered(fact);
        break;
      case "said":
        this.#said(fact);
        break;
      case "spent":
        this.#spent(fact);
        break;
      case "total":
        this.#tokensIn = Math.max(this.#tokensIn, fact.tokensIn);
        this.#tokensOut = Math.max(this.#tokensOut, fact.tokensOut);
        if (fact.costUsd !== undefined) this.#costMicroUsd = microOf(fact.costUsd);
        break;
    }
    this.#options.onUse?.(this.use);
  }

  #called({ id: name, tool, input, title }: Extract<AgentFact, { kind: "called" }>): void {
    const id = name.slice(0, idCharsMax);
    const known = this.#calls.get(id);
    if (known === undefined) {
      this.#toolCalls += 1;
      if (this.#told >= callsMax) return;
    }
    const path = this.#path(input);
    const call: AgentCall = {
      call: known?.call ?? ++this.#told,
      tool: cut(tool, toolCharsMax) || "tool",
      title: cut(this.#options.mask(title ?? path ?? titleOf(input)), titleCharsMax),
      ...(path === undefined ? {} : { path }),
      status: known?.status ?? "running",
    };
    this.#calls.set(id, call);
    if (known === undefined || known.title !== call.title) this.#options.onCall(call);
  }

  #answered({ id, isFailed, isRefused, output }: Extract<AgentFact, { kind: "answered" }>): void {
    const call = this.#calls.get(id.slice(0, idCharsMax));
    const refused = isRefused === true || isRefusal(output);
    // A call beyond those that are told is still counted.
    if (call === undefined) {
      if (refused) this.#denied += 1;
      return;
    }
    const status = refused ? "refused" : isFailed ? "failed" : "completed";
    if (call.status === status) return;
    if (status === "refused") this.#denied += 1;
    // The first word about a refusal stays: a summary at the end may know less.
    if (call.status === "refused") return;
    const ended = { ...call, status } as const;
    this.#calls.set(id.slice(0, idCharsMax), ended);
    this.#options.onCall(ended);
  }

  #said({ text, isPiece = false }: Extract<AgentFact, { kind: "said" }>): void {
    const before = isPiece ? this.#message : undefined;
    const whole = before === undefined ? text : `${this.#answer}${text}`;
    this.#answer = whole.length > answerCharsMax ? whole.slice(0, answerCharsMax).toWellFormed() : whole;
    if (before === undefined && this.#told >= callsMax) return;
    const title = cut(this.#options.mask(this.#answer), titleCharsMax);
    if (title === before?.title) return;
    const call = before?.call ?? ++this.#told;
    this.#message = { call, tool: messageTool, title, status: "completed" };
    this.#options.onCall(this.#message);
  }

  #spent({ turn, tokensIn, tokensOut, costUsd }: Extract<AgentFact, { kind: "spent" }>): void {
    const before = turn !== undefined && this.#turn?.id === turn ? this.#turn : { tokensIn: 0, tokensOut: 0 };
    this.#tokensIn += tokensIn - before.tokensIn;
    this.#tokensOut += tokensOut - before.tokensOut;
    this.#turn = turn === undefined ? undefined : { id: turn, tokensIn, tokensOut };
    if (costUsd !== undefined) this.#costMicroUsd = (this.#costMicroUsd ?? 0) + microOf(costUsd);
  }

  #path(input: JsonRecord): string | undefined {
    const given = pathFields.map((field) => textOf(input[field])).find((path) => path !== undefined);
    if (given === undefined) return undefined;
    const { root } = this.#options;
    const below = isAbsolute(given) ? relative(root, given) : given;
    const isInside = below !== "" && !below.startsWith("..");
    return cut(this.#options.mask(isInside ? below : given), pathCharsMax) || undefined;
  }
}

const pathFields = ["file_path", "filePath", "path", "notebook_path", "absolute_path", "dir_path"];
const titleFields = ["command", "pattern", "query", "url", "description", "prompt"];

function titleOf(input: JsonRecord): string {
  for (const field of titleFields) {
    const value = input[field];
    const words = Array.isArray(value) ? value.filter((word) => typeof word === "string").join(" ") : value;
    const text = textOf(words);
    if (text !== undefined) return text;
  }
  const fields = Object.keys(recordOf(input));
  return fields.length === 0 ? "" : JSON.stringify(input);
}

/**
 * The kernel's refusal, at the end of a line as programs print it, or by its name. Only the beginning and the end of an
 * answer are examined.
 */
const refusal =
  /: (?:read-only file system|permission denied|operation not permitted)\.?$|\b(?:EROFS|EACCES|EPERM): /im;
const examinedChars = 8_000;

function isRefusal(output: string): boolean {
  if (output.length <= 2 * examinedChars) return refusal.test(output);
  return refusal.test(output.slice(0, examinedChars)) || refusal.test(output.slice(-examinedChars));
}

/** Far more than any attempt costs, and a number that JSON keeps whole. */
const microMax = 1e15;

function microOf(usd: number): number {
  return Math.min(microMax, Math.round(usd * 1e6));
}

/** One line without control characters. */
function cut(text: string, charsMax: number): string {
  // Only so much of a long text is looked at.
  const line = text
    .slice(0, charsMax * 4)
    .replace(/[\p{C}\s]+/gu, " ")
    .trim();
  return (line.length > charsMax ? `${line.slice(0, charsMax - 1)}…` : line).toWellFormed();
}
