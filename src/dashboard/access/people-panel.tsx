import { useNow } from "../hub/clock.ts";
import { type Person, usePerson } from "../hub/session.ts";
import { FindField, useWords } from "../parts/find-field.tsx";
import { ageText, countText, leftText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { certDueMs } from "./certs.ts";
import { showGiveAccess } from "./give-access.tsx";
import { type Holder, useHolders } from "./holders.ts";
import { askToRevoke } from "./revoke-holder.tsx";

/** A list that fits a screen needs no filter. */
const findFrom = 12;
const shownMax = 100;

/** Tokens and certificates, as the people and programs that hold them. */
export function PeoplePanel() {
  const { data, error, at, reload } = useHolders();
  const now = useNow();
  const person = usePerson();
  const words = useWords();
  const all = data ?? [];
  const usable = all.filter(({ revokedAt, until }) => revokedAt === null && (until === null || until > now));
  const shown = usable.filter((holder) => namesOf(holder).includes(words));
  if (data === undefined && error === undefined) return <SkeletonRows count={6} />;
  return (
    <>
      <ErrorBand error={error} at={at} onRetry={reload} />
      {usable.length > findFrom ? (
        <FindField label="Filter people" placeholder="Name, role, tenant, token or certificate" />
      ) : null}
      <section className="panel people">
        <header>
          <h2>People and programs</h2>
          <span className="grow">{data === undefined ? "" : countsText(usable)}</span>
          <button type="button" className="button small" onClick={() => showGiveAccess(person, reload)}>
            <Icon name="plus" />
            Give access
          </button>
        </header>
        <ul>
          {shown.slice(0, shownMax).map((holder) => (
            <HolderRow key={`${holder.by} ${holder.id}`} {...{ holder, person, now }} onDone={reload} />
          ))}
        </ul>
        {shown.length > shownMax ? (
          <p className="table-foot">and {countText(shown.length - shownMax)} more; filter to find them</p>
        ) : null}
        {data !== undefined && shown.length === 0 ? (
          <p className="nothing dimmer">No person or program matches.</p>
        ) : null}
        {all.length === usable.length ? null : (
          <p className="table-foot">{countText(all.length - usable.length)} revoked or expired, not listed</p>
        )}
      </section>
    </>
  );
}

type RowProps = { holder: Holder; person: Person; now: number; onDone: () => void };

function HolderRow({ holder, person, now, onDone }: RowProps) {
  const { by, name, role, tenantId, since, until } = holder;
  const isYou = by === "token" && holder.userId === person.user_id && role === person.role;
  return (
    <li>
      <span className="avatar" aria-hidden="true">
        {name.slice(0, 2)}
      </span>
      <span className="wrapped">
        <b className="strong">{name}</b>{" "}
        <span className="tag">
          {role}
          {tenantId === null ? "" : ` · ${tenantId}`}
        </span>
        <small>
          {by}, {ageText(now - since)} old
          {until === null ? ", does not expire" : `, expires in ${leftText(until - now)}`}
        </small>
      </span>
      {by === "certificate" && until !== null && until - now < certDueMs ? (
        <span className="state" data-state="assigned">
          <Icon name="warning" />
          due
        </span>
      ) : null}
      {isYou ? (
        <span className="dimmer small-text">you</span>
      ) : (
        <button
          type="button"
          className="button quiet small"
          aria-label={`Revoke the ${by} of ${name}`}
          onClick={() => askToRevoke(holder, onDone)}
        >
          Revoke…
        </button>
      )}
    </li>
  );
}

function countsText(usable: readonly Holder[]): string {
  const certs = usable.filter(({ by }) => by === "certificate").length;
  const tokens = plural(usable.length - certs, "token");
  return certs === 0 ? tokens : `${tokens}, ${plural(certs, "certificate")}`;
}

function namesOf({ by, name, userId, role, tenantId }: Holder): string {
  return `${name} ${userId} ${role} ${tenantId ?? ""} ${by}`.toLowerCase();
}
