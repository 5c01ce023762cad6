import { Icon } from "../parts/icon.tsx";
import { copyText } from "../parts/notices.tsx";
import { PlainText } from "../parts/plain-text.tsx";

const entriesMax = 200;
const openDepth = 2;
const textCharsMax = 2000;

/** Any JSON as a tree that opens and closes. Everything in it is text, whatever it contains. */
export function TreePanel({ title, note, value }: { title: string; note?: string; value: unknown }) {
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
        <span className="grow">{note}</span>
        <button
          type="button"
          className="button quiet small"
          onClick={() => void copyText(JSON.stringify(value, null, 2), "JSON")}
        >
          <Icon name="copy" />
          Copy JSON
        </button>
      </header>
      <div className="tree">
        <Branch name={null} value={value} depth={0} />
      </div>
    </section>
  );
}

function Branch({ name, value, depth }: { name: string | null; value: unknown; depth: number }) {
  const label =
    name === null ? null : (
      <span className="field-name">
        <PlainText text={name} />:{" "}
      </span>
    );
  if (typeof value !== "object" || value === null) {
    return (
      <div className="leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const count = `${entries.length} ${isList ? (entries.length === 1 ? "item" : "items") : entries.length === 1 ? "field" : "fields"}`;
  return (
    <details open={depth < openDepth && entries.length <= 20}>
      <summary>
        {label}
        {isList ? "[]" : "{}"} <span className="dimmer">{count}</span>
      </summary>
      {entries.slice(0, entriesMax).map(([key, child]) => (
        <Branch key={key} name={isList ? null : key} value={child} depth={depth + 1} />
      ))}
      {entries.length > entriesMax ? (
        <div className="leaf dimmer">and {entries.length - entriesMax} more</div>
      ) : null}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value !== "string") return <span className="number">{String(value)}</span>;
  const text = value.length > textCharsMax ? `${value.slice(0, textCharsMax)}…` : value;
  return (
    <span className="text">
      <PlainText text={JSON.stringify(text)} />
    </span>
  );
}
