export type MeterProps = {
  name: string;
  text: string;
  used: number | undefined;
  max: number | null;
  /** The most that was in use at once, as a mark on the bar. */
  peak?: number | undefined;
  isFull?: boolean;
  isPlain?: boolean;
};

/** How much of a limit is in use; without a limit only the text. */
export function Meter({ name, text, used, max, peak, isFull = false, isPlain = false }: MeterProps) {
  const percent = percentOf(used, max);
  const peakPercent = percentOf(peak, max);
  return (
    <div className={isFull ? "full" : undefined}>
      <span className="dim">{name}</span>
      <span className="num">{isFull ? <b className="strong alarm-text">{text}, full</b> : text}</span>
      {percent === null ? null : (
        <span
          className={isPlain ? "meter plain-meter" : "meter"}
          role="meter"
          aria-label={name}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuetext={text}
        >
          <i style={{ width: `${percent}%` }} />
          {peakPercent === null || peakPercent === percent ? null : <u style={{ left: `${peakPercent}%` }} />}
        </span>
      )}
    </div>
  );
}

function percentOf(value: number | undefined, max: number | null): number | null {
  return value === undefined || max === null || max === 0
    ? null
    : Math.min(100, Math.round((value / max) * 100));
}
