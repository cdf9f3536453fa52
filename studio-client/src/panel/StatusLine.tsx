import { useMemo } from "react";
import { formatValue } from "../lib/format";
import type { FrameHeader } from "../net/messages";
import { useStudio } from "../state/store";
import { warningText } from "../state/warnings";
import { sceneExtentOf } from "../view/sceneExtent";
import { Icon } from "./Icon";

interface ItemProps {
  label: string;
  value: string;
  tone?: "warn";
  title?: string;
}

function Item({ label, value, tone, title }: ItemProps) {
  return (
    <span className={tone ? `item ${tone}` : "item"} title={title}>
      <b>{value}</b> {label}
    </span>
  );
}

const gridText = (cell: number) =>
  cell >= 0.01 && cell < 1 ? `${Number((100 * cell).toFixed(0))} cm` : formatValue(cell, "m", 1);

const count = (n: number, one: string, many: string) => (n === 1 ? one : many);

/** Warnings of the last steps, over the view. */
export function Warnings() {
  const header = useStudio((s) => s.header);
  const buildWarnings = useStudio((s) => s.world?.warnings) ?? [];
  const warnings = [...new Set([...buildWarnings, ...(header ? stepWarnings(header) : [])])];
  return warnings.length > 0 ? (
    <ul className="warnings" aria-label="Warnings">
      {warnings.slice(0, 4).map((warning) => (
        <li key={warning}>
          <Icon name="warn" size={14} />
          {warning}
        </li>
      ))}
    </ul>
  ) : null;
}

function stepWarnings(header: FrameHeader): string[] {
  const list = header.warnings.map(warningText);
  if (!header.converged && list.length === 0) list.push("the solver did not reach its tolerance");
  return list;
}

export function StatusLine() {
  const header = useStudio((s) => s.header);
  const world = useStudio((s) => s.world);
  const scene = useStudio((s) => s.scene);
  const frames = useStudio((s) => s.hello?.frames);
  const cell = useMemo(() => (scene ? sceneExtentOf(scene).cell : 0), [scene]);
  if (!header || !world) return <footer className="status" />;
  return (
    <footer className="status" aria-label="Status">
      <span className="item time">
        <b>{header.time.toFixed(2)} s</b>
      </span>
      {frames && (
        <span className="item">
          frame <b>{(header.frame ?? 0) + 1}</b> of {frames}
        </span>
      )}
      {!frames && <LiveStats header={header} playing={world.playing} />}
      {cell > 0 && <span className="item quiet grid-note">grid {gridText(cell)}</span>}
    </footer>
  );
}

function LiveStats({ header, playing }: { header: FrameHeader; playing: boolean }) {
  const slow = playing && header.rate > 0 && header.rate < 0.95;
  return (
    <>
      {playing ? (
        <>
          <Item
            label="× real time"
            title={slow ? "This machine cannot keep up: the simulation is slower than real time" : undefined}
            value={header.rate.toFixed(2)}
            tone={slow ? "warn" : undefined}
          />
          <Item label="steps/s" value={header.stepsPerSecond.toFixed(0)} />
        </>
      ) : (
        <span className="item quiet">paused</span>
      )}
      <Item label="ms per step" value={header.stepMs.toFixed(header.stepMs < 10 ? 2 : 1)} />
      <Item
        label={count(header.iterations, "solver iteration", "solver iterations")}
        value={String(header.iterations)}
      />
      <Item
        label={count(header.inverted, "inverted element", "inverted elements")}
        value={String(header.inverted)}
        tone={header.inverted ? "warn" : undefined}
      />
      <Item label={count(header.contacts, "contact", "contacts")} value={String(header.contacts)} />
    </>
  );
}
