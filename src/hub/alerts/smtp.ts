import { type Channel, SendError } from "./channel.ts";

type SmtpSettings = { url: string; from: string; to: string };

/** A mail server may be slow; these limits are shorter than the sender's own. */
const connectMs = 10_000;

/** Sends mail. The package is loaded for the first mail, because most hubs send none. */
export function smtpChannel({ url, from, to }: SmtpSettings): Channel {
  return {
    name: "smtp",
    async send({ subject, body }, signal) {
      const { createTransport } = await import("nodemailer");
      const transport = createTransport({
        url,
        connectionTimeout: connectMs,
        greetingTimeout: connectMs,
        socketTimeout: connectMs,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const close = () => transport.close();
      signal.addEventListener("abort", close, { once: true });
      try {
        await transport.sendMail({ from, to, subject: `Writ: ${subject}`, text: `${body}\n` });
      } catch (error) {
        throw refused(error);
      } finally {
        signal.removeEventListener("abort", close);
        close();
      }
    },
  };
}

/** The message of a server may quote the login, so only its code is passed on. */
function refused(error: unknown): SendError {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  return new SendError(`the mail server refused the message (${responseCode ?? code ?? "no code given"})`);
}
