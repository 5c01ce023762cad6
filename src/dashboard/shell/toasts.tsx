import { Store, useStore } from "../hub/store.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";

type Toast = {
  id: number;
  icon: IconName;
  text: string;
  note?: string | undefined;
  act?: { label: string; run: () => void } | undefined;
};

const shownMs = 8_000;
const shownMax = 4;

const toasts = new Store<Toast[]>([]);
let lastId = 0;

/** Says for a few seconds what was done, with a button to undo it where that is possible. */
export function showToast(toast: Omit<Toast, "id">): void {
  const id = ++lastId;
  toasts.set([...toasts.get(), { ...toast, id }].slice(-shownMax));
  setTimeout(() => dismiss(id), shownMs);
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, icon, text, note, act }) => (
        <div className="toast" key={id}>
          <Icon name={icon} />
          <div>
            <PlainText text={text} />
            {note === undefined ? null : (
              <small>
                <PlainText text={note} />
              </small>
            )}
          </div>
          {act === undefined ? (
            <button
              type="button"
              className="icon-button tiny"
              aria-label="Dismiss"
              onClick={() => dismiss(id)}
            >
              <Icon name="close" />
            </button>
          ) : (
            <button
              type="button"
              className="button small"
              onClick={() => {
                dismiss(id);
                act.run();
              }}
            >
              {act.label}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
