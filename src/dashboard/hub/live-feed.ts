// One stream of events for all tabs of a session. Why: ADR 0046.
import type { HubPart } from "../../contract/shapes/view-shapes.ts";
import { hasCode } from "../../core/errors.ts";
import { emptyBatch, type FeedEvent, readEvents, type StreamBatch } from "./event-stream.ts";
import { refused, sessionId } from "./session.ts";
import { Store } from "./store.ts";

/** What one flush delivers: the last event of each job, or `isReset` when everything has to be read again. */
export type Changes = {
  events: ReadonlyMap<string, FeedEvent>;
  created: readonly FeedEvent[];
  /** Parts of the hub itself that have changed. */
  parts: ReadonlySet<HubPart>;
  isReset: boolean;
};

/** `lostAt` is null while the stream is open. */
type Link = { lostAt: number | null; retryAt: number | null };

type Message =
  | ({ kind: "batch" } & StreamBatch)
  | { kind: "link"; link: Link }
  | { kind: "hello" }
  | { kind: "try" };

const flushMsMin = 100;
/** A tab that was hidden for long has missed too much to replay; it reads everything again. */
const pendingMax = 5_000;
const rateSeconds = 5;
const retryMsMin = 500;
const retryMsMax = 15_000;

export const link = new Store<Link>({ lostAt: null, retryAt: null });
/** Events a second over the last few seconds. */
export const eventRate = new Store(0);

/** Belongs to one session, like the lock, so that no tab receives events of another person. Null while signed out. */
let channel: BroadcastChannel | null = null;
const listeners = new Set<(changes: Changes) => void>();
const pending = new Map<string, FeedEvent>();
let created: FeedEvent[] = [];
let parts = new Set<HubPart>();
let isReset = false;
let lastId: string | null = null;
let lastFlushMs = 0;
let isFlushDue = false;
let counted = 0;
/** Events of each of the last seconds. */
let recent: number[] = [];
let isLeader = false;
let retryNow: () => void = () => {};

/** Calls the listener with changes, at most ten times a second and never while the tab is hidden. */
export function onChanges(listener: (changes: Changes) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Starts the feed of a session, and returns a function that stops it. One tab of a browser holds the stream and passes
 * it on to the other tabs of the same session; when it closes, the next one takes over.
 */
export function startFeed(session: string): () => void {
  const name = `writ-live ${session}`;
  const stopping = new AbortController();
  const { signal } = stopping;
  const opened = new BroadcastChannel(name);
  channel = opened;
  opened.onmessage = ({ data }: MessageEvent<Message>) => receive(data);
  send({ kind: "hello" });
  document.addEventListener("visibilitychange", scheduleFlush, { signal });
  const timer = setInterval(everySecond, 1_000);
  // Locks need a secure context; without them each tab has a stream of its own.
  if (navigator.locks === undefined) void lead(signal);
  // It rejects only when the feed is stopped before the tab has got the lock.
  else void navigator.locks.request(name, { signal }, () => lead(signal)).catch(() => {});
  return () => {
    stopping.abort();
    clearInterval(timer);
    opened.close();
    forgetAll();
  };
}

function everySecond(): void {
  recent = [...recent, counted].slice(-rateSeconds);
  counted = 0;
  eventRate.set(recent.reduce((sum, one) => sum + one, 0) / recent.length);
  remindLeader();
}

function forgetAll(): void {
  channel = null;
  pending.clear();
  created = [];
  recent = [];
  isReset = false;
  lastId = null;
  isLeader = false;
  link.set({ lostAt: null, retryAt: null });
}

/** Tries to reconnect at once. */
export function tryNow(): void {
  if (isLeader) retryNow();
  else send({ kind: "try" });
}

/**
 * Browsers slow down the timers of hidden tabs, up to a minute: a visible tab tells its leader when it is time to try
 * again.
 */
function remindLeader(): void {
  const { retryAt } = link.get();
  if (!isLeader && !document.hidden && retryAt !== null && retryAt < Date.now()) tryNow();
}

function receive(message: Message): void {
  if (message.kind === "batch") take(message);
  else if (message.kind === "link") link.set(message.link);
  else if (message.kind === "try" && isLeader) retryNow();
  else if (message.kind === "hello" && isLeader) send({ kind: "link", link: link.get() });
}

function send(message: Message): void {
  channel?.postMessage(message);
}

/** Holds the lock until the feed is stopped or the tab is closed. */
async function lead(signal: AbortSignal): Promise<void> {
  isLeader = true;
  for (let failures = 0; !signal.aborted; failures++) {
    const session = sessionId();
    try {
      await readEvents({
        lastId,
        signal,
        onOpen: () => {
          // Without a position the stream cannot resume, so everything has to be read again.
          if (lastId === null) publish({ ...emptyBatch, isReset: true });
          failures = 0;
          setLink({ lostAt: null, retryAt: null });
        },
        onBatch: (batch) => {
          if (!signal.aborted) publish(batch);
        },
      });
    } catch (error) {
      if (hasCode(error, "UNAUTHENTICATED")) refused(error, session);
    }
    await pause(failures, signal);
  }
}

function publish(batch: StreamBatch): void {
  send({ kind: "batch", ...batch });
  take(batch);
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const delayMs = Math.min(retryMsMin * 2 ** failures, retryMsMax) * (0.75 + Math.random() / 2);
  const nowMs = Date.now();
  setLink({ lostAt: link.get().lostAt ?? nowMs, retryAt: nowMs + delayMs });
  await new Promise<void>((resolve) => {
    retryNow = resolve;
    setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function setLink(next: Link): void {
  link.set(next);
  send({ kind: "link", link: next });
}

function take(batch: StreamBatch): void {
  if (batch.lastId !== null) lastId = batch.lastId;
  isReset ||= batch.isReset;
  for (const part of batch.parts) parts.add(part);
  counted += batch.events.length;
  for (const event of batch.events) {
    pending.set(event.id, event);
    if (event.status === "pending" && event.attempt === 0) created.push(event);
  }
  if (pending.size > pendingMax) {
    pending.clear();
    created = [];
    isReset = true;
  }
  scheduleFlush();
}

function scheduleFlush(): void {
  if (isFlushDue || document.hidden || (pending.size === 0 && parts.size === 0 && !isReset)) return;
  isFlushDue = true;
  const waitMs = Math.max(0, lastFlushMs + flushMsMin - performance.now());
  setTimeout(() => requestAnimationFrame(flush), waitMs);
}

function flush(): void {
  isFlushDue = false;
  lastFlushMs = performance.now();
  const changes: Changes = { events: new Map(pending), created, parts, isReset };
  pending.clear();
  created = [];
  parts = new Set();
  isReset = false;
  for (const listener of [...listeners]) listener(changes);
}
