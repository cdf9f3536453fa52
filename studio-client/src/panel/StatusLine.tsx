import { useMemo } from "react";
import { formatValue } from "../lib/format";
import type { FrameHeader } from "../net/messages";
import { useStudio } from "../state/store";
import { stageOf } from "../view/sceneExtent";
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

/** Warnings of the last steps, in words, over the view. */
export function Notes() {
  const header = useStudio((s) => s.header);
  const said = useStudio((s) => s.world?.notes) ?? [];
  const notes = [...new Set([...said, ...(header ? warnings(header) : [])])];
  return notes.length > 0 ? (
    <ul className="notes" aria-label="Warnings">
      {notes.slice(0, 4).map((note) => (
        <li key={note}>
          <Icon name="warn" size={14} />
          {note}
        </li>
      ))}
    </ul>
  ) : null;
}

function warnings(header: FrameHeader): string[] {
  const list = [...header.warnings];
  if (!header.converged && list.length === 0) list.push("the solver did not reach its tolerance");
  return list;
}

export function StatusLine() {
  const header = useStudio((s) => s.header);
  const world = useStudio((s) => s.world);
  const scene = useStudio((s) => s.scene);
  const frames = useStudio((s) => s.hello?.frames);
  const cell = useMemo(() => (scene ? stageOf(scene).cell : 0), [scene]);
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
      {!frames && <Live header={header} playing={world.playing} />}
      {cell > 0 && <span className="item quiet grid-note">grid {gridText(cell)}</span>}
    </footer>
  );
}

function Live({ header, playing }: { header: FrameHeader; playing: boolean }) {
  const slow = playing && header.rate > 0 && header.rate < 0.95;
  return (
    <>
      {playing ? (
        <>
          <Item
            label="× real time"
            title={slow ? "This machine cannot keep up, so the motion is slower than in reality" : undefined}
            value={header.rate.toFixed(2)}
            tone={slow ? "warn" : undefined}
          />
          <Item label="steps/s" value={header.stepsPerSecond.toFixed(0)} />
        </>
      ) : (
        <span className="item quiet">paused</span>
      )}
      <Item label="ms a step" value={header.stepMs.toFixed(header.stepMs < 10 ? 2 : 1)} />
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
