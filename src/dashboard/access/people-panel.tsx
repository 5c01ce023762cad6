import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useNow } from "../hub/clock.ts";
import { usePerson } from "../hub/session.ts";
import { useQuery } from "../hub/use-query.ts";
import { FindField, useWords } from "../parts/find-field.tsx";
import { ageText, countText, durationText, plural } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { showToast } from "../shell/toasts.tsx";
import { showGiveAccess } from "./give-access.tsx";

type Token = Awaited<ReturnType<typeof readTokens>>[number];

/** A list that fits a screen needs no filter. */
const findFrom = 12;
const shownMax = 100;

/** Tokens, as the people and programs that hold them. */
export function PeoplePanel() {
  const { data, error, at, reload } = useQuery("tokens", readTokens, { everyMs: 15_000 });
  const now = useNow();
  const person = usePerson();
  const words = useWords();
  const usable = (data ?? []).filter(
    ({ revoked_at, expires_at }) => revoked_at === null && (expires_at === null || expires_at > now),
  );
  const shown = usable.filter((token) => namesOf(token).includes(words));
  if (data === undefined && error === undefined) return <SkeletonRows count={6} />;
  return (
    <>
      <ErrorBand error={error} at={at} onRetry={reload} />
      {usable.length > findFrom ? (
        <FindField label="Filter tokens" placeholder="Name, role, tenant or worker" />
      ) : null}
      <section className="panel people">
        <header>
          <h2>People and programs</h2>
          <span className="grow">{data === undefined ? "" : plural(usable.length, "token")}</span>
          <button type="button" className="button small" onClick={() => showGiveAccess(person, reload)}>
            <Icon name="plus" />
            Give access
          </button>
        </header>
        <ul>
          {shown.slice(0, shownMax).map((token) => (
            <li key={token.id}>
              <span className="avatar" aria-hidden="true">
                {(token.worker_id ?? token.user_id).slice(0, 2)}
              </span>
              <span className="cut">
                <b className="strong">{token.worker_id ?? token.user_id}</b>{" "}
                <span className="tag">
                  {token.role}
                  {token.tenant_id === null ? "" : ` · ${token.tenant_id}`}
                </span>
                <small className="cut">
                  {ageText(now - token.created_at)} old
                  {token.expires_at === null
                    ? ", does not expire"
                    : `, expires in ${durationText(token.expires_at - now)}`}
                </small>
              </span>
              {token.user_id === person.user_id && token.role === person.role ? (
                <span className="dimmer small-text">you</span>
              ) : (
                <button
                  type="button"
                  className="button quiet small"
                  aria-label={`Revoke the token of ${token.worker_id ?? token.user_id}`}
                  onClick={() => askToRevoke(token, reload)}
                >
                  Revoke…
                </button>
              )}
            </li>
          ))}
        </ul>
        {shown.length > shownMax ? (
          <p className="table-foot">and {countText(shown.length - shownMax)} more; filter to find them</p>
        ) : null}
        {data !== undefined && shown.length === 0 ? (
          <p className="nothing dimmer">No token matches.</p>
        ) : null}
      </section>
    </>
  );
}

function namesOf({ user_id, worker_id, role, tenant_id }: Token): string {
  return `${user_id} ${worker_id ?? ""} ${role} ${tenant_id ?? ""}`.toLowerCase();
}

async function readTokens() {
  const { body } = await callHub(routes.listTokens, {});
  return [...body].sort((a, b) => b.created_at - a.created_at);
}

function askToRevoke(token: Token, onDone: () => void): void {
  const name = token.worker_id ?? token.user_id;
  askFirst({
    title: `Revoke the token of ${name}?`,
    points: [
      { icon: "block", text: "It stops working at once; its sessions and open streams end within 5 s." },
      {
        icon: "jobs",
        text:
          token.role === "worker"
            ? "The worker can report nothing any more; its jobs go back to the queue."
            : "Its jobs are not touched.",
      },
      { icon: "audit", text: "Recorded in the audit trail with your name." },
    ],
    typed: { label: "Type the name to go on", word: name },
    acts: [
      {
        label: "Revoke",
        tone: "alarm",
        run: async () => {
          await callHub(routes.revokeToken, { params: { id: token.id } });
          onDone();
          showToast({ icon: "check", text: `The token of ${name} is revoked` });
        },
      },
    ],
  });
}
