import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt, { type MqttClient } from "mqtt";
import { onTestFinished } from "vitest";
import { eventually } from "./eventually.ts";

/** Why tests with a broker cannot run here; undefined if they can. */
export const noMosquitto: string | undefined = spawnSync("mosquitto", ["-h"]).error
  ? "not capable: mosquitto is not installed"
  : undefined;

type BrokerOptions = {
  /** A client has to connect as this user. */
  user?: { name: string; password: string };
  tls?: { ca: string; cert: string; key: string };
};

/** A real broker on a port of its own. It keeps what it has accepted on disk, so that it can be killed. */
export class Mosquitto {
  readonly port: number;
  readonly #dir: string;
  #child: ChildProcess | undefined;

  private constructor(dir: string, port: number) {
    this.#dir = dir;
    this.port = port;
  }

  static async start(options: BrokerOptions = {}): Promise<Mosquitto> {
    const dir = mkdtempSync(join(tmpdir(), "writ-mosquitto-"));
    // It gives up being root, and has to write here then.
    chmodSync(dir, 0o777);
    const broker = new Mosquitto(dir, await freePort());
    onTestFinished(async () => {
      await broker.kill();
      rmSync(dir, { recursive: true, force: true });
    });
    broker.#configure(options);
    await broker.restart();
    return broker;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async restart(): Promise<void> {
    await this.kill();
    this.#child = spawn("mosquitto", ["-c", join(this.#dir, "mosquitto.conf")], { stdio: "ignore" });
    await eventually("the broker listens", () => canConnect(this.port));
  }

  /** Another client, which receives everything below a topic. */
  async listen(topic: string, options: mqtt.IClientOptions = {}): Promise<Listener> {
    const listener = new Listener(this.url, options);
    await listener.subscribe(topic);
    onTestFinished(() => listener.close());
    return listener;
  }

  #configure({ user, tls }: BrokerOptions): void {
    const lines = [
      "persistence true",
      `persistence_location ${this.#dir}/`,
      // Written at once: a kill loses nothing that was acknowledged.
      "autosave_on_changes true",
      "autosave_interval 1",
      "max_queued_messages 100000",
      "max_inflight_messages 0",
      `listener ${this.port} 127.0.0.1`,
    ];
    if (user === undefined) lines.push("allow_anonymous true");
    else {
      const file = join(this.#dir, "passwords");
      writeFileSync(file, `${user.name}:${user.password}\n`, { mode: 0o644 });
      execFileSync("mosquitto_passwd", ["-U", file]);
      chmodSync(file, 0o644);
      lines.push("allow_anonymous false", `password_file ${file}`);
    }
    if (tls !== undefined) {
      for (const [name, text] of Object.entries(tls))
        writeFileSync(join(this.#dir, `${name}.pem`), text, { mode: 0o644 });
      lines.push(
        `cafile ${this.#dir}/ca.pem`,
        `certfile ${this.#dir}/cert.pem`,
        `keyfile ${this.#dir}/key.pem`,
      );
    }
    writeFileSync(join(this.#dir, "mosquitto.conf"), `${lines.join("\n")}\n`);
  }
}

export type Heard = { topic: string; text: string; retain: boolean };

/** Connects again by itself, with the same session, so that it misses nothing while the broker is away. */
export class Listener {
  readonly heard: Heard[] = [];
  readonly #client: MqttClient;

  constructor(url: string, options: mqtt.IClientOptions) {
    const clientId = `listener-${Math.random().toString(16).slice(2)}`;
    this.#client = mqtt.connect(url, { clientId, clean: false, reconnectPeriod: 50, ...options });
    this.#client.on("message", (topic, payload, { retain }) =>
      this.heard.push({ topic, text: payload.toString(), retain }),
    );
    // The broker is killed on purpose.
    this.#client.on("error", () => {});
  }

  async subscribe(topic: string): Promise<void> {
    await this.#client.subscribeAsync(topic, { qos: 1 });
  }

  async publish(topic: string, text: string): Promise<void> {
    await this.#client.publishAsync(topic, text, { qos: 1 });
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
