import { routes } from "../../contract/routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useHealth } from "../hub/health.ts";
import { useQuery } from "../hub/use-query.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { go, usePlace, withQuery } from "../shell/router.ts";

const sources = { flag: "command line", environment: "environment", file: "writ.yaml", default: "default" };

/** What the hub runs with, and where each value came from. It is changed where it came from, not here. */
export function SettingsPage() {
  const place = usePlace();
  const words = (place.query.get("q") ?? "").toLowerCase();
  const version = useHealth()?.version;
  const { data, error, at, reload } = useQuery(
    "settings",
    async () => (await callHub(routes.listSettings, {})).body,
  );
  const shown = (data ?? []).filter(({ name }) => name.toLowerCase().includes(words));
  return (
    <>
      <div className="top">
        <h1>Settings</h1>
        <span className="dim not-phone">
          {version === undefined ? "" : `version ${version}`} · as this hub was started
        </span>
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {data === undefined && error === undefined ? <SkeletonRows count={8} /> : null}
        {data === undefined ? null : (
          <>
            <label className="find fleet-find">
              <Icon name="search" />
              <input
                value={place.query.get("q") ?? ""}
                placeholder="Name of a setting"
                aria-label="Filter settings"
                spellCheck={false}
                onChange={(event) => go(withQuery(place, { q: event.target.value }), { replace: true })}
              />
            </label>
            <section className="panel">
              <table className="why settings">
                <thead>
                  <tr>
                    <th>Setting</th>
                    <th>Value</th>
                    <th>From</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map(({ name, value, is_secret, from }) => (
                    <tr key={name}>
                      <td className="mono strong">{name}</td>
                      <td className="mono">
                        <span className="setting-value">{valueText(value, is_secret, from)}</span>
                      </td>
                      <td className={from === "default" ? "dimmer" : "strong"}>{sources[from]}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {shown.length === 0 ? <p className="nothing dimmer">No setting has that in its name.</p> : null}
            </section>
          </>
        )}
      </div>
    </>
  );
}

function valueText(value: unknown, isSecret: boolean, from: string): string {
  if (isSecret) return from === "default" ? "not set" : "set, and secret";
  if (value === null || value === undefined) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}
