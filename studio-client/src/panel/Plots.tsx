import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { formatValue } from "../lib/format";
import { WINDOW } from "../state/history";
import { history } from "../state/studio";
import { useStudio } from "../state/store";

const HEIGHT = 132;
const REFRESH = 66; // ms between redraws

interface Line {
  label: string;
  color: string;
  width?: number;
  dash?: number[];
}

interface PlotProps {
  title: string;
  unit: string;
  lines: Line[];
  dark: boolean;
  data(): uPlot.AlignedData;
  /** The range of the axis for values from `low` to `high`. */
  range(low: number, high: number): [number, number];
}

function axisText(unit: string): (self: uPlot, values: number[]) => string[] {
  return (_self, values) => values.map((v) => (v === 0 ? "0" : trim(formatValue(v, unit))));
}

const trim = (text: string) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

function Plot({ title, unit, lines, dark, data, range }: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const ink = dark ? "#98a2b3" : "#667085";
    const rule = dark ? "rgb(255 255 255 / 0.07)" : "rgb(16 24 40 / 0.07)";
    const axis = {
      stroke: ink,
      font: "11px system-ui, sans-serif",
      grid: { stroke: rule, width: 1 },
      ticks: { show: false },
      gap: 4,
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        padding: [8, 8, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: {
            time: false,
            range: () => {
              const now = history.time[history.time.length - 1] ?? 0;
              return [Math.max(0, now - WINDOW), Math.max(now, 2)];
            },
          },
          y: {
            range: (_self, low, high) => range(low ?? 0, high ?? 1),
          },
        },
        axes: [
          { ...axis, size: 22, space: 60, values: (_self, values) => values.map((v) => `${+v.toFixed(2)} s`) },
          { ...axis, size: 56, space: 26, values: axisText(unit) },
        ],
        series: [
          {},
          ...lines.map(({ label, color, width, dash }) => ({
            label,
            stroke: color,
            width: width ?? 1.6,
            dash,
            points: { show: false },
          })),
        ],
      },
      data(),
      element,
    );
    let version = -1;
    const timer = window.setInterval(() => {
      if (version === history.version || document.hidden) return;
      version = history.version;
      plot.setData(data());
    }, REFRESH);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      window.clearInterval(timer);
      observer.disconnect();
      plot.destroy();
    };
    // `data`, `range` and `lines` depend on the other values only.
  }, [unit, dark]);
  return (
    <figure className="plot">
      <figcaption>
        <span className="plot-title">{title}</span>
        {lines.map(({ label, color, dash }) => (
          <span key={label} className="key">
            <i style={{ borderTopColor: color, borderTopStyle: dash ? "dashed" : "solid" }} />
            {label}
          </span>
        ))}
      </figcaption>
      <div ref={host} className="plot-host" role="img" aria-label={`Plot of ${title.toLowerCase()} over time`} />
    </figure>
  );
}

/** The 97th percentile: a rare delay of the machine must not flatten the curve. */
function percentile97(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(0.97 * (values.length - 1))] ?? 0;
}

export function Plots({ dark }: { dark: boolean }) {
  const palette = dark
    ? ["#6ea8fe", "#f59f6c", "#66c2a0", "#e6e9ef"]
    : ["#2f6fde", "#d9622b", "#1f8a63", "#1d2433"];
  const limit = () => 1000 * (useStudio.getState().world?.dt ?? 0);
  return (
    <div className="plots">
      <Plot
        title="Energy"
        unit="J"
        dark={dark}
        lines={["kinetic", "elastic", "gravity", "total"].map((label, i) => ({
          label,
          color: palette[i],
          width: i === 3 ? 1.2 : 1.7,
          dash: i === 3 ? [4, 3] : undefined,
        }))}
        data={() => [history.time, ...history.energy] as uPlot.AlignedData}
        range={(low, high) => {
          const pad = 0.06 * (high - low || 1);
          return [low < 0 ? low - pad : 0, high + pad];
        }}
      />
      <Plot
        title="Step time"
        unit="ms"
        dark={dark}
        lines={[
          { label: "ms per step", color: palette[0] },
          { label: "real-time limit", color: palette[1], dash: [5, 4], width: 1.3 },
        ]}
        data={() => [history.time, history.stepMs, history.time.map(limit)] as uPlot.AlignedData}
        range={() => [0, Math.max(1.4 * limit(), 1.2 * percentile97(history.stepMs), 1e-3)]}
      />
    </div>
  );
}
