import type { Link, Message } from "./frame-proxy.ts";
import type { Frame } from "./frames.ts";

/** What a fault can do besides holding messages. */
export type FaultTools = {
  /** No connection can be made until the caller was answered. */
  cutOff(): void;
  terminate(processId: number): Promise<void>;
  endServer(signal: "SIGINT" | "SIGQUIT"): Promise<void>;
  /** Does something else with the same store. Resolves when that was answered, or has waited for long. */
  nextAct(): Promise<void>;
};

export type DatabaseFault = {
  name: string;
  /** Whether another act is done meanwhile. */
  isBesideNext?: true;
  /** What it does at a message, instead of passing it on. */
  strike(link: Link, at: { frame: Frame; message: Message }, tools: FaultTools): Promise<void>;
  /** What it does at the end: once the caller was answered and, unless that said "done", has asked again. */
  end?(link: Link): void;
};

/** The message never arrives, and both sides lose the connection. */
const cutBefore: DatabaseFault = {
  name: "cut before",
  async strike(link) {
    link.hangUp();
  },
};

/** The message arrives, the server does what it asks for, and then both sides lose the connection. */
const cutAfter: DatabaseFault = {
  name: "cut after",
  async strike(link, { frame, message }) {
    link.pass(message.direction, frame);
    if (message.direction === "←") link.endNear();
    else {
      link.hold("←");
      await link.answered();
    }
    link.hangUp();
  },
};

/**
 * The hub loses the connection and reads back what has become of its group, and its caller asks again; only then the server
 * is given the message and all that came after it, and hears of the loss.
 */
const held: DatabaseFault = {
  name: "held until read back",
  async strike(link, { frame, message }) {
    link.hold(message.direction, frame);
    link.hold("←");
    link.loseNear();
  },
  end(link) {
    link.release("→");
    link.endFar();
  },
};

/** Both sides lose the connection, and no other can be made, so nothing can be read back. */
const cutOff: DatabaseFault = {
  name: "cut off",
  async strike(link, _, tools) {
    tools.cutOff();
    link.hangUp();
  },
};

/** An administrator ends the server's process; what it has said by then arrives, and the reason. */
const terminated: DatabaseFault = {
  name: "terminated",
  async strike(link, { frame, message }, tools) {
    link.hold("→");
    link.hold("←");
    link.hold(message.direction, frame);
    // Otherwise chance would decide how far the server is with what it was asked for.
    if (message.direction === "←") await link.answered();
    await tools.terminate(link.processId);
    await link.closed;
    link.release("←");
    link.endNear();
  },
};

/** The message waits until another act of the same store was answered. */
const delayed: DatabaseFault = {
  name: "delayed past the next act",
  isBesideNext: true,
  async strike(link, { frame, message }, tools) {
    link.hold(message.direction, frame);
    await tools.nextAct();
    link.release(message.direction);
  },
};

/** The server goes down with all its connections, and is back only after the caller was answered. */
function killed(name: string, signal: "SIGINT" | "SIGQUIT"): DatabaseFault {
  return {
    name,
    async strike(link, { frame, message }, tools) {
      link.hold("→");
      link.hold("←");
      link.hold(message.direction, frame);
      if (message.direction === "←") await link.answered();
      await tools.endServer(signal);
      await link.closed;
      if (message.direction === "→") link.release("←");
      link.endNear();
    },
  };
}

/** They cost milliseconds, so they strike at every message. */
export const quickFaults = [cutBefore, cutAfter, held, cutOff, terminated, delayed];

/** They cost most of a second each. */
export const serverFaults = [killed("server stopped", "SIGINT"), killed("server killed", "SIGQUIT")];
