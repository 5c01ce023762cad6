import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { rotationDueMs } from "../../core/key-times.ts";
import { certsDue, readCerts } from "../access/certs.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import type { mayOf } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { durationText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { type Item, namesText, ranks } from "./attention-item.ts";

const dayMs = 86_400_000;
/** How long before its rotation is due a key is listed. */
const dueMs = 14 * dayMs;

/** Keys, certificates and alerts that need a person. */
export function useTrustItems({ administer, administerHub }: ReturnType<typeof mayOf>): Item[] {
  return [...useKeysDue(administerHub), ...useCertsDue(administer), ...useAlertChannels(administerHub)];
}

function useKeysDue(maySee: boolean): Item[] {
  const load = async () => (maySee ? (await callHub(pageRoutes.listKeys, {})).body.keys : []);
  const now = useNow();
  const active = useQuery(maySee ? "keys" : "no keys", load, { everyMs: 60_000 }).data?.find(
    ({ status }) => status === "active",
  );
  if (active === undefined) return [];
  const dueAt = active.not_before + rotationDueMs;
  if (dueAt - now > dueMs) return [];
  return [
    {
      key: "key",
      rank: ranks.keyDue,
      state: "assigned",
      icon: <Icon name="key" />,
      text: (
        <>
          Signing key is{" "}
          <b className="strong">
            due {dueAt < now ? "now" : `in ${plural(Math.ceil((dueAt - now) / dayMs), "day")}`}
          </b>
        </>
      ),
      note: active.key_id,
      act: { label: "Rotate", href: "/access" },
    },
  ];
}

function useCertsDue(maySee: boolean): Item[] {
  const load = async () => (maySee ? readCerts() : []);
  const now = useNow();
  const { data } = useQuery(maySee ? "certs" : "no certs", load, { everyMs: 60_000 });
  const due = certsDue(data ?? [], now);
  const expired = due.filter(({ expires_at }) => expires_at <= now);
  const expiring = due.filter(({ expires_at }) => expires_at > now);
  return [...certRow(expired, now), ...certRow(expiring, now)];
}

/** One row for all certificates that have expired, and one for all that soon will. */
function certRow(certs: ReturnType<typeof certsDue>, now: number): Item[] {
  const [first] = certs;
  if (first === undefined) return [];
  const isOver = first.expires_at <= now;
  const names = certs.map(({ user_id, kind }) => user_id ?? `the ${kind}`);
  const next = Math.min(...certs.map(({ expires_at }) => expires_at));
  const renewal = certs.every(({ kind }) => kind === "client")
    ? "issue a new one with writ certs issue"
    : "renew it with writ certs renew";
  const when = isOver ? "expired" : `in ${durationText(next - now)}`;
  return [
    {
      key: isOver ? "expired certificates" : "expiring certificates",
      rank: isOver ? ranks.expired : ranks.expiring,
      state: isOver ? "failed" : "assigned",
      icon: <Icon name="lock" />,
      text:
        certs.length === 1 ? (
          <>
            Certificate of <b className="strong">{names[0]}</b> {isOver ? "has expired" : `expires ${when}`}
          </>
        ) : (
          <>
            <b className="strong">{certs.length} certificates</b>{" "}
            {isOver ? "have expired" : `expire, the first ${when}`}
          </>
        ),
      note: certs.length === 1 ? renewal : `${namesText(names)}: ${renewal}`,
      act: { label: "Show", href: "/access" },
    },
  ];
}

function useAlertChannels(maySee: boolean): Item[] {
  const load = async () =>
    maySee ? (await callHub(pageRoutes.getLockdown, {})).body.alert_channels : ["unknown"];
  const channels = useQuery(maySee ? "alert channels" : "no alert channels", load, { everyMs: 60_000 }).data;
  if (channels === undefined || channels.length > 0) return [];
  return [
    {
      key: "alerts",
      rank: ranks.noAlerts,
      state: "assigned",
      icon: <Icon name="warning" />,
      text: "HIGH alerts reach no channel",
      note: "no Telegram, mail or webhook is set",
      act: { label: "How", href: "/access" },
    },
  ];
}
