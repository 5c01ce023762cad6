import { useRef, useState } from "react";
import { eventTable } from "../../core/events.ts";
import { countText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ages, momentLabel } from "../parts/time-range.ts";
import { useKeys } from "../shell/keys.ts";
import { go, type PageAddress, usePageAddress, withQuery } from "../shell/router.ts";
import { type AuditFilter, type AuditFilterName, auditLabels, readAuditWords } from "./audit-filter.ts";

const events = Object.keys(eventTable).sort();

/** Words that become filters, and a chip for each filter that is set. */
export function AuditBar({ filter }: { filter: AuditFilter }) {
  const address = usePageAddress();
  const input = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState("");
  const [unknown, setUnknown] = useState<string[]>([]);
  useKeys({ "/": () => input.current?.focus() });
  const apply = () => {
    const read = readAuditWords(words);
    setUnknown(read.unknown);
    setWords(read.unknown.join(" "));
    go(withQuery(address, read.filter));
  };
  return (
    <form
      className="bar"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <label className="find">
        <Icon name="search" />
        <input
          ref={input}
          value={words}
          placeholder="user:ops, event:LOGIN_FAILED, tenant:media, a job's id or a record's number"
          aria-label="Search the audit trail"
          aria-describedby={unknown.length === 0 ? undefined : "audit-unknown"}
          spellCheck={false}
          autoComplete="off"
          enterKeyHint="search"
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") input.current?.blur();
          }}
        />
        <kbd className="not-phone">/</kbd>
      </label>
      <AuditChips filter={filter} address={address} />
      {unknown.length === 0 ? null : (
        <p className="problem" id="audit-unknown" role="alert">
          “{unknown.join(" ")}” is not understood: use user:, event:, tenant:, job:, since: or until: before a
          value.
        </p>
      )}
    </form>
  );
}

function AuditChips({ filter, address }: { filter: AuditFilter; address: PageAddress }) {
  const set = (Object.keys(filter) as AuditFilterName[]).filter(
    (name) => name !== "severity" && name !== "view",
  );
  return (
    <div className="bar chips">
      {set.map((name) => (
        <span className="chip" key={name}>
          <span>{auditLabels[name]}</span>
          <b className="cut chip-value">{valueText(name, filter[name] ?? "")}</b>
          <a
            href={withQuery(address, { [name]: null })}
            aria-label={`Remove the filter: ${auditLabels[name]}`}
          >
            <Icon name="close" />
          </a>
        </span>
      ))}
      {filter.event === undefined ? (
        <Chooser
          label="Event"
          choices={events.map((event) => [event, event])}
          onChoose={(event) => go(withQuery(address, { event }))}
        />
      ) : null}
      {filter.since === undefined ? (
        <Chooser
          label="Time"
          choices={Object.entries(ages).map(([value, text]) => [value, `last ${text}`])}
          onChoose={(since) => go(withQuery(address, { since }))}
        />
      ) : null}
    </div>
  );
}

function Chooser(props: { label: string; choices: string[][]; onChoose: (value: string) => void }) {
  return (
    <label className="chip add">
      <Icon name="plus" />
      <select
        value=""
        aria-label={`Filter by ${props.label.toLowerCase()}`}
        onChange={(event) => props.onChoose(event.target.value)}
      >
        <option value="">{props.label}</option>
        {props.choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function valueText(name: AuditFilterName, value: string): string {
  if (name === "since") return ages[value as keyof typeof ages] ?? momentLabel(value);
  if (name === "until") return /^\d+[smhd]$/.test(value) ? `${value} ago` : momentLabel(value);
  return name === "record" || name === "after" ? countText(Number(value)) : value;
}
