import { useRef, useState } from "react";
import { errorText } from "../hub/call-hub.ts";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { type InputFile, uploadInput } from "./upload-input.ts";

type Props = {
  files: readonly InputFile[];
  problem: string | undefined;
  onChange: (files: InputFile[]) => void;
};

/** Files that the job reads below `inputs/`. They are stored as soon as they are chosen. */
export function InputsField({ files, problem, onChange }: Props) {
  const chooser = useRef<HTMLInputElement>(null);
  const [sending, setSending] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const add = async (chosen: readonly File[]) => {
    setRefusal(null);
    const added: InputFile[] = [];
    for (const file of chosen) {
      setSending(file.name);
      try {
        added.push(await uploadInput(file));
      } catch (error) {
        setRefusal(errorText(error));
      }
    }
    setSending(null);
    const names = new Set(added.map(({ path }) => path));
    onChange([...files.filter(({ path }) => !names.has(path)), ...added]);
  };
  const message = refusal ?? problem;
  return (
    <div className="form-field" role="group" aria-label="Files">
      <span className="form-label">Files that the job reads, below inputs/</span>
      {files.length === 0 ? null : (
        <ul className="input-files">
          {files.map((file) => (
            <li key={file.path}>
              <Icon name="file" />
              <span className="mono wrapped grow">
                <PlainText text={file.path} />
              </span>
              <span className="mono dimmer" title={file.sha256}>
                {file.sha256.slice(0, 12)}…
              </span>
              <button
                type="button"
                className="icon-button"
                aria-label={`Leave out ${file.path}`}
                onClick={() => onChange(files.filter((other) => other !== file))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Choose files"
        onChange={(event) => {
          void add([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      <button
        type="button"
        className="button small"
        disabled={sending !== null}
        aria-invalid={message !== undefined}
        onClick={() => chooser.current?.click()}
      >
        <Icon name="plus" />
        {sending === null ? "Add files" : `Sending ${sending} …`}
      </button>
      {message === undefined ? null : (
        <small className="problem" role="alert">
          {message}
        </small>
      )}
    </div>
  );
}
