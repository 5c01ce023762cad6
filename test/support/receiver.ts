import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  headers: IncomingHttpHeaders;
  text: string;
  message: { type: string; timestamp: string; data: Record<string, unknown> & { id: string; seq: number } };
};

type Answer = { status: number; headers?: Record<string, string> };

/** A program that webhooks call. What it answers is the test's decision, also later than the call. */
export class Receiver {
  readonly calls: Received[] = [];
  answer: (call: Received) => Answer | Promise<Answer> = () => ({ status: 204 });
  readonly #server: Server;

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  private constructor() {
    this.#server = createServer(async (incoming, outgoing) => {
      const parts: Buffer[] = [];
      for await (const part of incoming) parts.push(part as Buffer);
      const text = Buffer.concat(parts).toString();
      const call = { headers: incoming.headers, text, message: JSON.parse(text) };
      this.calls.push(call);
      const { status, headers } = await this.answer(call);
      outgoing.writeHead(status, headers).end();
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get url(): string {
    return `http://${this.host}/writ`;
  }

  /** The jobs and events that have arrived, in order. */
  get arrived(): string[] {
    return this.calls.map(({ message }) => `${message.type} ${message.data.id}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
