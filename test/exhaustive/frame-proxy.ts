import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Direction, type Frame, FrameReader, isAnswered, processIdOf, sqlOf } from "./frames.ts";

/** A message of a conversation: the n-th in its direction on the m-th connection that was used. */
export type Message = { connection: number; direction: Direction; index: number; type: string; sql: string };

type Strike = { at: Message; strike(link: Link, frame: Frame): void };

/**
 * Stands between a store and its server and understands what they say. It counts the messages from `watch` on, and hands
 * the connection over to a fault when the message comes by that the fault is for.
 */
export class FrameProxy {
  readonly #targetPort: number;
  readonly #server = createServer((near) => this.#join(near));
  readonly #links = new Set<Link>();
  #listening = Promise.withResolvers<void>();
  #numbers: Map<Link, number> | null = null;
  #strike: Strike | null = null;
  messages: Message[] = [];
  port = 0;
  /** Ends each new connection at once. */
  isDown = false;
  /** The connection that the fault has struck. */
  struck: Link | null = null;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when a store has told the server that it wants to hear of commits. That connection is not counted. */
  get listening(): Promise<void> {
    return this.#listening.promise;
  }

  /** Counts from here on, and strikes if there is a fault. */
  watch(strike: Strike | null): void {
    this.messages = [];
    this.#numbers = new Map();
    this.#strike = strike;
  }

  /** Forgets everything, for the next store. */
  reset(): void {
    this.#numbers = null;
    this.#strike = null;
    this.struck = null;
    this.isDown = false;
    this.#listening = Promise.withResolvers();
    for (const link of this.#links) link.hangUp();
  }

  async stop(): Promise<void> {
    for (const link of this.#links) link.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket): void {
    if (this.isDown) {
      near.on("error", () => {}).destroy();
      return;
    }
    const link = new Link(near, connect(this.#targetPort, "127.0.0.1"), (direction, frame) =>
      this.#pass(link, direction, frame),
    );
    this.#links.add(link);
    void link.closed.then(() => this.#links.delete(link));
  }

  #pass(link: Link, direction: Direction, frame: Frame): void {
    if (link.isListening) this.#listening.resolve();
    else if (this.#numbers !== null && frame.type !== "Terminate") {
      const message = this.#count(link, direction, frame);
      const { at, strike } = this.#strike ?? {};
      if (at !== undefined && isSame(at, message)) {
        this.#strike = null;
        this.struck = link;
        strike!(link, frame);
        return;
      }
    }
    link.pass(direction, frame);
  }

  #count(link: Link, direction: Direction, frame: Frame): Message {
    const numbers = this.#numbers!;
    if (!numbers.has(link)) numbers.set(link, numbers.size + 1);
    const message = {
      connection: numbers.get(link)!,
      direction,
      index: ++link.counts[direction],
      type: frame.type,
      sql: sqlOf(frame),
    };
    this.messages.push(message);
    return message;
  }
}

function isSame(one: Message, other: Message): boolean {
  return (
    one.connection === other.connection && one.direction === other.direction && one.index === other.index
  );
}

/** One connection, as both sides see it. */
export class Link {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #held: Record<Direction, Frame[] | null> = { "→": null, "←": null };
  #answersOwed = 0;
  #onAnswered: (() => void) | null = null;
  readonly counts: Record<Direction, number> = { "→": 0, "←": 0 };
  /** The server's process behind it. */
  processId = 0;
  isListening = false;
  /** Resolves when the server has ended its side. */
  readonly closed: Promise<unknown>;

  constructor(near: Socket, far: Socket, onFrame: (direction: Direction, frame: Frame) => void) {
    this.#near = near;
    this.#far = far;
    this.closed = once(far, "close").catch(() => {});
    for (const [socket, direction] of [
      [near, "→"],
      [far, "←"],
    ] as const) {
      const reader = new FrameReader(direction);
      socket.setNoDelay(true).on("error", () => {});
      socket.on("data", (bytes: Buffer) => {
        for (const frame of reader.read(bytes)) this.#arrive(direction, frame, onFrame);
      });
    }
    near.on("close", () => this.#held["→"] === null && far.end());
    far.on("close", () => this.#held["←"] === null && near.end());
  }

  #arrive(direction: Direction, frame: Frame, onFrame: (direction: Direction, frame: Frame) => void): void {
    if (frame.type === "BackendKeyData") this.processId = processIdOf(frame);
    if (sqlOf(frame).startsWith("LISTEN ")) this.isListening = true;
    const held = this.#held[direction];
    if (held === null) onFrame(direction, frame);
    else {
      held.push(frame);
      if (direction === "←" && frame.type === "ReadyForQuery") this.#answered();
    }
  }

  pass(direction: Direction, frame: Frame): void {
    if (direction === "→") {
      if (isAnswered(frame)) this.#answersOwed++;
      this.#far.write(frame.bytes);
    } else {
      if (frame.type === "ReadyForQuery") this.#answered();
      this.#near.write(frame.bytes);
    }
  }

  #answered(): void {
    if (--this.#answersOwed === 0) this.#onAnswered?.();
  }

  /** From here on what comes from this side is kept back, beginning with this message. */
  hold(direction: Direction, ...frames: Frame[]): void {
    this.#held[direction] ??= [];
    for (const frame of frames) this.#held[direction].push(frame);
    if (direction === "←" && frames.some(({ type }) => type === "ReadyForQuery")) this.#answered();
  }

  /** Lets go what was held back from this side. */
  release(direction: Direction): void {
    const frames = this.#held[direction] ?? [];
    this.#held[direction] = null;
    // Those that were held were counted as answered when they arrived.
    for (const frame of frames)
      if (direction === "→") this.pass(direction, frame);
      else this.#near.write(frame.bytes);
  }

  /** Resolves when the server has answered everything that reached it, or has gone. */
  async answered(): Promise<void> {
    if (this.#answersOwed <= 0) return;
    const answered = new Promise<void>((resolve) => {
      this.#onAnswered = resolve;
    });
    await Promise.race([answered, this.closed]);
  }

  /** The hub loses the connection, and the server does not hear of it. */
  loseNear(): void {
    this.#held["→"] ??= [];
    this.#near.destroy();
  }

  /** The hub gets what was sent to it before, and then the end. */
  endNear(): void {
    this.#near.end();
  }

  endFar(): void {
    // What the server still answers is read and thrown away: unread, it would undo what was sent.
    this.#held["←"] ??= [];
    this.#far.end();
  }

  /** Ends it on both sides. */
  hangUp(): void {
    this.loseNear();
    this.endFar();
  }

  destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
  }
}
