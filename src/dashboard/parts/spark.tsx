type Props = {
  values: readonly (number | null)[];
  /** Drawn dashed, on the same scale. */
  second?: readonly (number | null)[];
  colour: string;
  secondColour?: string;
  max?: number;
  width?: number;
  height?: number;
};

/** A small line without a scale that shows how a figure changes. The figure itself is beside it as text. */
export function Spark({ values, second, colour, secondColour, max, width = 160, height = 26 }: Props) {
  const known = [...values, ...(second ?? [])].filter((value) => value !== null);
  const top = max ?? (Math.max(0, ...known) * 1.1 || 1);
  const points = (series: readonly (number | null)[]) => pointsOf(series, { top, width, height });
  const line = points(values);
  return (
    <svg className="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {second === undefined ? (
        <polygon points={`0,${height} ${line} ${width},${height}`} fill={colour} opacity=".1" />
      ) : (
        <polyline
          points={points(second)}
          fill="none"
          stroke={secondColour ?? colour}
          strokeWidth="1.4"
          strokeDasharray="3 2.5"
          vectorEffect="non-scaling-stroke"
        />
      )}
      <polyline
        points={line}
        fill="none"
        stroke={colour}
        strokeWidth="1.5"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}

/** Where nothing was measured, the last value is repeated. */
function pointsOf(
  series: readonly (number | null)[],
  { top, width, height }: { top: number; width: number; height: number },
): string {
  let last = 0;
  return series
    .map((value, index) => {
      last = value ?? last;
      const x = (index / Math.max(1, series.length - 1)) * width;
      return `${x.toFixed(1)},${(height - 1 - (last / top) * (height - 3)).toFixed(1)}`;
    })
    .join(" ");
}
