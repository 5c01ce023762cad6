import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { errorText } from "../hub/call-hub.ts";
import { useLinkState } from "../hub/link-state.ts";
import { Store, useStore } from "../hub/store.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { usePageAddress } from "./router.ts";

type Question = {
  title: string;
  /** What will happen, line by line, with counts from the hub. */
  points?: { icon: IconName; text: ReactNode }[];
  body?: ReactNode;
  /** The word that has to be typed first, for what cannot be undone. */
  typed?: { label: string; word: string };
  /** An act that resolves to `again` keeps the question open, because one of its fields is wrong. */
  acts: { label: string; tone: "plain" | "main" | "alarm"; run: () => unknown }[];
  /** The label of the button that does nothing. */
  keep?: string;
};

const question = new Store<Question | null>(null);

/** Asks before an act. The focus starts on the button that does nothing. */
export function askFirst(next: Question): void {
  question.set(next);
}

function closeQuestion(): void {
  question.set(null);
}

export function Confirm() {
  const asked = useStore(question);
  const address = usePageAddress();
  // A question is about the page below it. After going back or signing out, a person must not answer it elsewhere.
  // biome-ignore lint/correctness/useExhaustiveDependencies: when another page is shown.
  useEffect(() => closeQuestion, [address]);
  return asked === null ? null : <ConfirmDialog key={asked.title} asked={asked} />;
}

function ConfirmDialog({ asked }: { asked: Question }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("[data-first]")?.focus();
  }, []);

  const linkState = useLinkState();
  useEffect(() => {
    if (linkState === "live") setProblem(null);
  }, [linkState]);

  const run = async (act: Question["acts"][number]) => {
    setBusy(true);
    try {
      const outcome = await act.run();
      setProblem(null);
      if (outcome === "again") setBusy(false);
      else if (question.get() === asked) closeQuestion();
    } catch (error) {
      setProblem(errorText(error));
      setBusy(false);
    }
  };
  const isHeld = asked.typed !== undefined && typed !== asked.typed.word;
  const isOff = (act: Question["acts"][number]) => isBusy || (isHeld && act.tone !== "plain");
  const onKey = (event: KeyboardEvent) => {
    const act = asked.acts.at(-1);
    if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (act !== undefined && !isOff(act)) void run(act);
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-title" onClose={closeQuestion}>
      <h2 className="head" id="confirm-title">
        <PlainText text={asked.title} />
      </h2>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Enter in any field of the question confirms it */}
      <div className="body" onKeyDown={onKey}>
        {asked.points === undefined ? null : (
          <ul>
            {asked.points.map(({ icon, text }) => (
              <li key={icon}>
                <Icon name={icon} />
                <span>{text}</span>
              </li>
            ))}
          </ul>
        )}
        {asked.body}
        {asked.typed === undefined ? null : (
          <label className="typed">
            {asked.typed.label}
            <span className="field">
              <input
                value={typed}
                placeholder={asked.typed.word}
                onChange={(event) => setTyped(event.target.value)}
                spellCheck={false}
                autoComplete="off"
              />
            </span>
          </label>
        )}
        {problem === null ? null : (
          <p className="problem" role="alert">
            <PlainText text={problem} />
          </p>
        )}
      </div>
      <div className="actions">
        <button type="button" className="button" data-first onClick={() => dialog.current?.close()}>
          {asked.keep ?? "Go back"}
        </button>
        {asked.acts.map((act) => (
          <button
            type="button"
            key={act.label}
            className={act.tone === "plain" ? "button" : `button ${act.tone}`}
            disabled={isOff(act)}
            onClick={() => void run(act)}
          >
            {act.label}
          </button>
        ))}
      </div>
    </dialog>
  );
}
