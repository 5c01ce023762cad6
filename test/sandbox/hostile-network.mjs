// Runs inside a closed network and tries to get out of it. Its argument lists the attempts; it prints what came of each.
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

const proxy = { host: "127.0.0.1", port: 3128 };
const patienceMs = 1_500;

const attempts = {
  /** Straight to an address. */
  tcp: ({ to }) => talk(connect(to), []),
  /** Bytes to an address, or to the proxy; one write for each, and each waits for an answer to the one before. */
  say: ({ to = proxy, parts, encoding = "latin1" }) =>
    talk(
      connect(to),
      parts.map((part) => Buffer.from(part, encoding)),
    ),
  udp: ({ to }) =>
    new Promise((resolve) => {
      const socket = createSocket(to.host.includes(":") ? "udp6" : "udp4");
      const finish = (text) => resolve(void socket.close() ?? text);
      socket.on("error", (error) => resolve(error.code));
      socket.on("message", () => finish("answered"));
      socket.send(Buffer.from(to.text ?? "hello"), to.port, to.host, (error) => {
        if (error) finish(error.code);
        else setTimeout(finish, 200, "nothing came back");
      });
    }),
  /** TLS in a tunnel, with any server name. */
  tls: ({ authority, servername }) =>
    new Promise((resolve) => {
      const socket = connect(proxy);
      socket.on("error", (error) => resolve(error.code));
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      socket.once("data", (reply) => {
        if (!String(reply).startsWith("HTTP/1.1 200")) return resolve(firstLine(reply));
        const tls = connectTls({ socket, servername, rejectUnauthorized: false }, () => {
          tls.write("GET / HTTP/1.1\r\nHost: hello\r\nConnection: close\r\n\r\n");
        });
        let text = "";
        tls.on("data", (bytes) => {
          text += bytes;
        });
        tls.on("error", (error) => resolve(error.code));
        tls.on("close", () => resolve(text === "" ? "closed" : text.split("\n").at(-1) || firstLine(text)));
      });
    }),
};

const results = [];
for (const attempt of JSON.parse(process.argv.at(-1))) results.push(await attempts[attempt.way](attempt));
process.stdout.write(JSON.stringify(results));

function talk(socket, parts) {
  return new Promise((resolve) => {
    let text = "";
    const rest = [...parts];
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text === "" ? "closed" : text);
    };
    const timer = setTimeout(() => {
      text ||= "silent";
      finish();
    }, patienceMs);
    socket.on("connect", () => {
      text = rest.length === 0 ? "connected " : "";
      if (rest.length > 0) socket.write(rest.shift());
    });
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (rest.length > 0) socket.write(rest.shift());
    });
    socket.on("error", (error) => {
      text ||= error.code;
      finish();
    });
    socket.on("close", finish);
  });
}

function firstLine(text) {
  return String(text).split("\r\n", 1)[0];
}
