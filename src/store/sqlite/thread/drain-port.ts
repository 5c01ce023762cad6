import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Request, ToThread } from "./wire.ts";

/** Everything that has arrived at a port since the first message, which was taken from it. Why: ADR 0003. */
export function drainPort(port: MessagePort, first: ToThread): { requests: Request[]; isClosing: boolean } {
  const requests: Request[] = [];
  let message: ToThread | undefined = first;
  while (message?.kind === "requests") {
    requests.push(...message.requests);
    message = receiveMessageOnPort(port)?.message as ToThread | undefined;
  }
  return { requests, isClosing: message?.kind === "close" };
}
