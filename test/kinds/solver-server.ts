import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A real web server that publishes solvers, and counts who asks for them. */
export class SolverServer {
  readonly #answers = new Map<string, Answer>();
  readonly #requests: string[] = [];
  readonly #server: Server = createServer((request, response) => {
    const path = request.url ?? "";
    this.#requests.push(path);
    const answer = this.#answers.get(path);
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  urlOf(path: string): string {
    return `http://${this.host}${path}`;
  }

  on(path: string, answer: Answer): string {
    this.#answers.set(path, answer);
    return this.urlOf(path);
  }

  /** Answers with these bytes; what a job needs to name them. */
  publish(path: string, content: string | Buffer): { solver_url: string; solver_checksum: string } {
    const url = this.on(path, (_request, response) => {
      response.writeHead(200, { "content-length": Buffer.byteLength(content) }).end(content);
    });
    return { solver_url: url, solver_checksum: sha256Of(content) };
  }

  requestsOf(path: string): number {
    return this.#requests.filter((each) => each === path).length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function sha256Of(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
