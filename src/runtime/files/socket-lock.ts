import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { hasCode } from "../../core/errors.ts";
import { makeDir } from "./make-dir.ts";

type SocketLock = { release(): Promise<void> };

const ending = ".sock";

/**
 * Takes the lock on a directory; returns null while this process or another holds it. It needs nothing that a Node of version 20
 * lacks. Everybody who wants the lock listens on a socket of their own in the directory, and has the lock if no other socket
 * there answers. Of two who try at the same time, the one who looks later sees the other, so both may give way but never both
 * stay. The kernel closes the socket of a process however that dies, and the next one removes what it left.
 */
export async function trySocketLock(dir: string): Promise<SocketLock | null> {
  makeDir(dir);
  const folder = openSync(dir, "r");
  // The path of a socket may have 107 bytes; this one is short wherever the directory is.
  const at = (name: string): string =>
    process.platform === "linux" ? `/proc/self/fd/${folder}/${name}` : join(dir, name);
  const own = randomUUID();
  const server = createServer((socket) => socket.destroy());
  const release = async (): Promise<void> => {
    rmSync(join(dir, own + ending), { force: true });
    await closeServer(server);
    closeSync(folder);
  };
  try {
    await listen(server, at(own));
    // Visible to others only now: a socket that does not listen yet would look like one that was left behind.
    renameSync(join(dir, own), join(dir, own + ending));
    const others = readdirSync(dir).filter((name) => name.endsWith(ending) && name !== own + ending);
    const answers = await Promise.all(others.map((name) => isAnswered(at(name))));
    for (const [index, name] of others.entries())
      if (!answers[index]) rmSync(join(dir, name), { force: true });
    if (!answers.includes(true)) return { release };
  } catch (error) {
    await release();
    throw error;
  }
  await release();
  return null;
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, "listening");
  // It is there for as long as the process; it does not keep it.
  server.unref();
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  await closed;
}

/** Whether a process listens there. Only a refusal shows that none does: one that is busy answers late. */
async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    return !hasCode(error, "ECONNREFUSED", "ENOENT");
  } finally {
    socket.destroy();
  }
}
