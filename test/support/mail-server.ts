import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export type Mail = { from: string; to: string[]; text: string };

export type MailServer = {
  /** With the login that the server asks for. */
  url: string;
  mails: Mail[];
  /** So many of the next mails are turned away for now. */
  refuseNext(count: number): void;
  stop(): Promise<void>;
};

/** A real SMTP server that asks for a login and keeps what it is given. */
export async function startMailServer(login: { user: string; password: string }): Promise<MailServer> {
  const mails: Mail[] = [];
  let refusals = 0;
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    onAuth(auth, _session, done) {
      const isRight = auth.username === login.user && auth.password === login.password;
      if (isRight) done(null, { user: login.user });
      else done(new Error("wrong login"));
    },
    async onData(stream, session, done) {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      if (refusals > 0) {
        refusals--;
        return done(Object.assign(new Error("try again later"), { responseCode: 451 }));
      }
      const { mailFrom, rcptTo } = session.envelope;
      const from = mailFrom === false ? "" : mailFrom.address;
      mails.push({ from, to: rcptTo.map(({ address }) => address), text: Buffer.concat(chunks).toString() });
      done();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://${login.user}:${login.password}@127.0.0.1:${port}`,
    mails,
    refuseNext: (count) => {
      refusals = count;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
