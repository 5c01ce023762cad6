import { useEffect, useRef, useState } from "react";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { ages } from "../parts/time-range.ts";
import { useKeys } from "../shell/keys.ts";
import { go, type PageAddress, usePageAddress, withQuery } from "../shell/router.ts";
import { valueText } from "./filter-text.ts";
import {
  type FilterName,
  filterLabels,
  filterNames,
  filterProblem,
  type JobFilter,
  readWords,
  writeWords,
} from "./job-filter.ts";

export function FilterBar({ filter }: { filter: JobFilter }) {
  const address = usePageAddress();
  const input = useRef<HTMLInputElement>(null);
  const shownText = writeWords(filter);
  const [words, setWords] = useState(shownText);
  useEffect(() => setWords(shownText), [shownText]);
  const [problem, setProblem] = useState<string | null>(null);
  const inAddress = filterProblem(filter);
  useKeys({ "/": () => input.current?.focus() });
  const apply = () => {
    const read = readWords(words);
    const wrong = filterProblem(read);
    setProblem(wrong);
    if (wrong !== null) return;
    // The field shows the whole filter, so a part that was deleted from it is dropped.
    const nothing = Object.fromEntries(filterNames.map((name) => [name, null]));
    go(withQuery({ ...address, path: "/jobs" }, { ...nothing, ...read }));
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
          onChange={(event) => setWords(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") input.current?.blur();
          }}
          placeholder="Id, type:video.*, worker:oak-01, code:TIMEOUT, or any text"
          aria-label="Filter jobs"
          spellCheck={false}
          autoComplete="off"
          enterKeyHint="search"
        />
        <kbd className="not-phone">/</kbd>
      </label>
      <Chips filter={filter} address={address} />
      {problem === null ? null : <Problem text={`${problem}. The list is filtered as before.`} />}
      {problem === null && inAddress !== null ? (
        <Problem text={`${inAddress}. This part of the filter is ignored.`} />
      ) : null}
    </form>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <span className="problem" role="alert">
      <PlainText text={text} />
    </span>
  );
}

function Chips({ filter, address }: { filter: JobFilter; address: PageAddress }) {
  const names = Object.keys(filter) as FilterName[];
  return (
    <div className="bar chips">
      {names.map((name) => (
        <span className="chip" key={name}>
          <span>{filterLabels[name]}</span>
          <b>
            <PlainText text={valueText(name, filter)} />
          </b>
          <a
            href={withQuery(address, { [name]: null })}
            aria-label={`Remove the filter: ${filterLabels[name]}`}
          >
            <Icon name="close" />
          </a>
        </span>
      ))}
      {filter.since === undefined ? (
        <label className="chip add">
          <Icon name="plus" />
          <span className="only-read">Created in the last</span>
          <select
            value=""
            aria-label="Created in the last"
            onChange={(event) => go(withQuery(address, { since: event.target.value }))}
          >
            <option value="">Time</option>
            {Object.entries(ages).map(([value, text]) => (
              <option key={value} value={value}>
                last {text}
              </option>
            ))}
          </select>
        </label>
      ) : null}
    </div>
  );
}
