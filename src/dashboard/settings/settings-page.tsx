import type { z } from "zod";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { shownSetting } from "../../contract/shapes/admin-shapes.ts";
import { callHub } from "../hub/call-hub.ts";
import { useHealth } from "../hub/health.ts";
import { useQuery } from "../hub/use-query.ts";
import { FindField, useWords } from "../parts/find-field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty, ErrorBand, SkeletonRows } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { valueInWords } from "./value-in-words.ts";

type Setting = z.infer<typeof shownSetting>;

const sources: Record<Setting["from"], string> = {
  flag: "command line",
  environment: "environment",
  file: "writ.yaml",
  default: "default",
};

/** The hub's settings and the source of each. A setting is changed at its source, not here. */
export function SettingsPage() {
  const address = usePageAddress();
  const words = useWords();
  const onlyChanged = address.query.get("from") === "set";
  const version = useHealth()?.version;
  const { data, error, at, reload } = useQuery(
    "settings",
    async () => (await callHub(pageRoutes.listSettings, {})).body,
  );
  const shown = data?.filter(
    ({ name, from }) => name.toLowerCase().includes(words) && (!onlyChanged || from !== "default"),
  );
  return (
    <>
      <div className="top">
        <h1>Settings</h1>
        <span className="grow dim cut not-phone">
          as this hub was started{version === undefined ? "" : `, version ${version}`}
        </span>
        <span className="grow phone-only" />
        <div className="segments" role="group" aria-label="Which settings">
          {[false, true].map((changed) => (
            <button
              type="button"
              key={String(changed)}
              aria-pressed={changed === onlyChanged}
              onClick={() => go(withQuery(address, { from: changed ? "set" : null }), { replace: true })}
            >
              {changed ? "Not the default" : "All"}
            </button>
          ))}
        </div>
      </div>
      <div className="page">
        <ErrorBand error={error} at={at} onRetry={reload} />
        {data === undefined && error === undefined ? <SkeletonRows count={10} /> : null}
        {shown === undefined ? null : (
          <>
            <FindField label="Filter settings" placeholder="Name of a setting" />
            {shown.length === 0 ? <NoSetting /> : <SettingTable settings={shown} />}
          </>
        )}
      </div>
    </>
  );
}

function NoSetting() {
  return (
    <Empty icon={<Icon name="search" />} title="No setting matches">
      <a className="button" href="/settings">
        Show all settings
      </a>
    </Empty>
  );
}

function SettingTable({ settings }: { settings: Setting[] }) {
  return (
    <section className="panel">
      <table className="rows settings">
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Value</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          {settings.map((setting) => (
            <tr key={setting.name} className={setting.from === "default" ? undefined : "is-set"}>
              <td className="mono">{setting.name}</td>
              <td className="value">
                <SettingValue setting={setting} />
              </td>
              <td>{sources[setting.from]}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="table-foot">
        A flag overrides the environment, which overrides writ.yaml, which overrides the default. A change
        takes effect when the hub is started again.
      </p>
    </section>
  );
}

/** The hub does not send a secret, only whether it is set. */
function SettingValue({ setting: { name, value, is_secret, from } }: { setting: Setting }) {
  if (is_secret && from !== "default") {
    return (
      <span className="row">
        <Icon name="lock" />
        set, not shown
      </span>
    );
  }
  if (value === null || value === undefined) return <span className="dimmer">not set</span>;
  const inWords = valueInWords(name, value);
  return (
    <>
      <span className="mono">
        <PlainText text={typeof value === "string" ? value : JSON.stringify(value)} />
      </span>
      {inWords === null ? null : <span className="dim"> = {inWords}</span>}
    </>
  );
}
