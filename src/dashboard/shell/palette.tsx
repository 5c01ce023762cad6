import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { callHub } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { useQuery } from "../hub/use-query.ts";
import { useWorkers } from "../hub/workers.ts";
import { readWords } from "../jobs/job-filter.ts";
import { useViews } from "../jobs/views.ts";
import { shortId } from "../parts/format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { colourOf, StateIcon, shownState, workerWords } from "../parts/state.tsx";
import { showKeys } from "./key-list.tsx";
import { leave } from "./leave.ts";
import { isPaletteOpen, navigation } from "./navigation.ts";
import { go } from "./router.ts";
import { switchTheme } from "./theme.ts";

type Choice = {
  id: string;
  group: "Jobs" | "Workers" | "Act" | "Go";
  icon: ReactNode;
  label: ReactNode;
  text: string;
  keys?: string[];
  run: () => void;
};

export function Palette() {
  return useStore(isPaletteOpen) ? <OpenPalette /> : null;
}

function OpenPalette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const found = useFoundJobs(words.trim());
  const wanted = words.trim().toLowerCase();
  const fixed = useFixedChoices().filter(({ text }) => text.toLowerCase().includes(wanted));
  const choices = [...found, ...useFoundWorkers(wanted), ...fixed];
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => isPaletteOpen.set(false);
  const run = (choice: Choice | undefined) => {
    close();
    choice?.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((chosen + step + choices.length) % Math.max(1, choices.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(choices[chosen]);
    }
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Search or act" onClose={close} onKeyDown={onKey}>
      <div className="question">
        <Icon name="search" />
        <input
          autoFocus
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
            setAt(0);
          }}
          placeholder="Job id, type, worker, or what to do"
          aria-label="Search or act"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-choices"
          aria-activedescendant={choices[chosen] === undefined ? undefined : `choice-${choices[chosen].id}`}
          spellCheck={false}
        />
        <kbd>Esc</kbd>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list of choices is a listbox of options */}
      <ul id="palette-choices" role="listbox" aria-label="Choices">
        {choices.map((choice, index) => (
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a list of choices is a listbox of options
          <li key={choice.id} id={`choice-${choice.id}`} role="option" aria-selected={index === chosen}>
            {/* biome-ignore lint/a11y/useHeadingContent: the name of the group is for the eyes; each option has its own */}
            {choices[index - 1]?.group === choice.group ? null : <h3 aria-hidden="true">{choice.group}</h3>}
            <button
              type="button"
              tabIndex={-1}
              onClick={() => run(choice)}
              onPointerMove={() => setAt(index)}
            >
              {choice.icon}
              <span className="cut">{choice.label}</span>
              <span className="keys">
                {choice.keys?.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </span>
            </button>
          </li>
        ))}
        {choices.length === 0 ? <li className="dimmer nothing">Nothing by that name</li> : null}
      </ul>
      <div className="actions">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>↵</kbd> go
        </span>
        <span className="grow" />
        <span>the last 8 of an id are enough</span>
      </div>
    </dialog>
  );
}

function useFoundJobs(words: string): Choice[] {
  const { data } = useQuery(`palette ${words}`, async () => {
    const read = readWords(words);
    const query = words === "" ? {} : read.id === undefined ? { q: words.slice(0, 100) } : { id: read.id };
    return (await callHub(pageRoutes.listJobs, { query: { ...query, limit: 5 } })).body;
  });
  return (data ?? []).map((job) => {
    const state = shownState(job);
    return {
      id: job.id,
      group: "Jobs",
      icon: (
        <span className="state" data-state={colourOf(state)}>
          <StateIcon state={state} />
        </span>
      ),
      label: (
        <>
          <bdi>{job.type}</bdi> <span className="mono dimmer">{shortId(job.id)}</span>
        </>
      ),
      text: `${job.type} ${job.id}`,
      run: () => go(`/jobs/${job.id}`),
    };
  });
}

const workersShown = 5;

/** Workers by name or tag. Without words the list would be too long. */
function useFoundWorkers(words: string): Choice[] {
  const workers = useWorkers(mayOf(usePerson()).seeFleet).data ?? [];
  if (words === "") return [];
  const found = workers.filter(({ id, name, tags }) =>
    [id, name ?? "", ...tags].some((text) => text.toLowerCase().includes(words)),
  );
  return found.slice(0, workersShown).map(({ id, name, status }) => ({
    id: `worker-${id.replaceAll(/\W/g, "-")}`,
    group: "Workers",
    icon: <Icon name="fleet" />,
    label: (
      <>
        <PlainText text={name ?? id} />{" "}
        <span className="dimmer">{workerWords[status].word.toLowerCase()}</span>
      </>
    ),
    text: id,
    run: () => go(`/fleet?q=${encodeURIComponent(id)}&open=${encodeURIComponent(id)}`),
  }));
}

function useFixedChoices(): Choice[] {
  const may = mayOf(usePerson());
  const views = useViews();
  const choice = (
    group: "Act" | "Go",
    icon: IconName,
    label: string,
    run: () => void,
    keys?: string[],
  ): Choice => ({
    id: `${group}-${label.replaceAll(/\W+/g, "-")}`,
    group,
    icon: <Icon name={icon} />,
    label: <PlainText text={label} />,
    text: label,
    run,
    ...(keys === undefined ? {} : { keys }),
  });
  return [
    ...(may.act ? [choice("Act", "plus", "Submit a job", () => go("/submit"), ["N"])] : []),
    choice("Act", "theme", "Switch between light and dark", switchTheme, ["T"]),
    choice("Act", "more", "List the keys", showKeys, ["?"]),
    choice("Act", "leave", "Sign out", leave),
    ...navigation(may).map(({ path, label, icon, key }) =>
      choice("Go", icon, label, () => go(path), ["G", key.toUpperCase()]),
    ),
    ...views.slice(1).map(({ name, href }) => choice("Go", "bookmark", name, () => go(href))),
    choice("Go", "file", "API reference", () => open("/api/docs", "_blank", "noreferrer")),
  ];
}
