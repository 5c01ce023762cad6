import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { startTestHub, type TestHub } from "./hub.ts";
import { type MemoryHub, startMemoryHub } from "./memory-hub.ts";
import { issueTokens, type Tokens } from "./tokens.ts";

/** One hub for all tests of the file that calls this: there before the first of them, gone after the last. */
export function hubForAll(env: Record<string, string> = {}): TestHub {
  return startedForAll(() => startTestHub(env));
}

/** The same without ports and services, for tests of what is answered. */
export function memoryHubForAll(env: Record<string, string> = {}): MemoryHub {
  return startedForAll(() => startMemoryHub(env));
}

/** A fresh hub for each test of the file that calls this. */
export function hubForEach(env: Record<string, string> = {}): TestHub {
  const hub = {} as TestHub;
  beforeEach(async () => void Object.assign(hub, await startTestHub(env)));
  afterEach(() => hub.stop());
  return hub;
}

/** Everybody that a test may need, as soon as the hub of its file is there. */
export function tokensOf(hub: TestHub): Tokens {
  const tokens = {} as Tokens;
  beforeAll(async () => void Object.assign(tokens, await issueTokens(hub)));
  return tokens;
}

/** What is started before the first test of a file and stopped after the last; it is empty until then. */
export function startedForAll<T extends { stop(): Promise<void> }>(start: () => Promise<T>): T {
  const started = {} as T;
  beforeAll(async () => void Object.assign(started, await start()));
  afterAll(() => started.stop());
  return started;
}
