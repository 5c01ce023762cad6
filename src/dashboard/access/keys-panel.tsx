import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { useQuery } from "../hub/use-query.ts";
import { plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;

export function KeysPanel({ mayRotate }: { mayRotate: boolean }) {
  const { data, reload } = useQuery("keys", async () => (await callHub(routes.listKeys, {})).body.keys, {
    everyMs: 60_000,
  });
  const now = useNow();
  return (
    <section className="panel people">
      <header>
        <h2>Signing keys</h2>
        <span className="grow" />
        {mayRotate ? (
          <button type="button" className="button small" onClick={() => askToRotate(reload)}>
            Rotate…
          </button>
        ) : null}
      </header>
      <ul>
        {[...(data ?? [])].reverse().map(({ key_id, status, not_before, not_after }) => {
          const isSoon = status === "active" && not_after !== null && not_after - now < soonMs;
          const days = Math.max(0, Math.floor((now - not_before) / dayMs));
          const span = not_after === null ? null : Math.max(1, Math.round((not_after - not_before) / dayMs));
          return (
            <li key={key_id}>
              <span className="avatar" aria-hidden="true">
                <Icon name="key" />
              </span>
              <span>
                <b className="mono">{key_id}</b>
                <small>
                  {keyWords[status] ?? status}
                  {span === null ? `, ${plural(days, "day")} old` : ` · ${days} of ${plural(span, "day")}`}
                </small>
              </span>
              {isSoon ? (
                <span className="state" data-state="assigned">
                  <Icon name="warning" />
                  due soon
                </span>
              ) : (
                <span className="dimmer small-text">{status}</span>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const keyWords: Record<string, string> = {
  active: "signs now",
  retiring: "signs along with the new one",
  retired: "verifies old receipts only",
  revoked: "verifies nothing",
};

function askToRotate(onDone: () => void): void {
  askFirst({
    title: "Rotate the signing key?",
    points: [
      {
        icon: "key",
        text: "A new key signs from now on. For 14 days leases carry both signatures, so no worker is cut off.",
      },
      { icon: "fleet", text: "Workers learn the new key from the hub, signed by the old one." },
      { icon: "audit", text: "Recorded in the audit trail with your name." },
    ],
    acts: [
      {
        label: "Rotate",
        tone: "main",
        run: async () => {
          const { body } = await callHub(routes.rotateKeys, { body: {} });
          onDone();
          showToast({ icon: "key", text: "A new key signs", note: body.key_id });
        },
      },
    ],
  });
}
