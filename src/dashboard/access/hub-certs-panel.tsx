import { useNow } from "../hub/clock.ts";
import { useQuery } from "../hub/use-query.ts";
import { leftText, wholeMomentText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { type Cert, certDueMs, readCerts } from "./certs.ts";

const names = { authority: "Certificate authority", server: "The hub’s certificate" } as const;

/** The authority that signs people's certificates, and the certificate that the hub presents on its ports. */
export function HubCertsPanel() {
  const { data, error, at, reload } = useQuery("certs", readCerts, { everyMs: 60_000 });
  const now = useNow();
  return (
    <>
      <ErrorBand error={error} at={at} onRetry={reload} />
      <section className="panel people">
        <header>
          <h2>Certificates of the hub</h2>
          <span className="grow" />
        </header>
        <ul>
          {(["authority", "server"] as const).map((kind) => {
            const cert = newest(data ?? [], kind);
            return cert === undefined ? null : (
              <li key={kind}>
                <span className="avatar" aria-hidden="true">
                  <Icon name="lock" />
                </span>
                <span className="wrapped">
                  <b className="strong">{names[kind]}</b>
                  <small className="mono">{cert.serial}</small>
                </span>
                <Ends cert={cert} now={now} />
              </li>
            );
          })}
        </ul>
      </section>
    </>
  );
}

function newest(certs: readonly Cert[], kind: Cert["kind"]): Cert | undefined {
  return certs.filter((cert) => cert.kind === kind).sort((a, b) => b.issued_at - a.issued_at)[0];
}

function Ends({ cert: { expires_at }, now }: { cert: Cert; now: number }) {
  const leftMs = expires_at - now;
  const text = leftMs <= 0 ? "expired" : `ends in ${leftText(leftMs)}`;
  const title = wholeMomentText(expires_at);
  if (leftMs >= certDueMs)
    return (
      <span className="dimmer small-text" title={title}>
        {text}
      </span>
    );
  return (
    <span className="state" data-state="assigned" title={title}>
      <Icon name="warning" />
      {text}
    </span>
  );
}
