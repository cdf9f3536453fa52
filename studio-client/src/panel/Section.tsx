import { type ReactNode, useId } from "react";
import { remember, useStudio } from "../state/store";
import { Icon } from "./Icon";

interface Props {
  title: string;
  /** Whether it is open by default. */
  open?: boolean;
  children: ReactNode;
}

/** A collapsible section of the panel; its state is stored in the browser. */
export function Section({ title, open = true, children }: Props) {
  const id = useId();
  const sections = useStudio((s) => s.sections);
  const shown = sections[title] ?? open;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        <button
          type="button"
          aria-expanded={shown}
          onClick={() => remember({ sections: { ...sections, [title]: !shown } })}
        >
          {title}
          <Icon name={shown ? "less" : "more"} size={14} />
        </button>
      </h2>
      {shown && <div className="section-body">{children}</div>}
    </section>
  );
}

interface TabsProps {
  label: string;
  names: string[];
  titles?: string[];
  selected: number;
  onSelect(number: number): void;
}

/** A row of buttons of which one is selected; nothing for fewer than two. */
export function Tabs({ label, names, titles, selected, onSelect }: TabsProps) {
  if (names.length < 2) return null;
  return (
    <div className="tabs" role="radiogroup" aria-label={label}>
      {names.map((name, number) => (
        <button
          key={number}
          type="button"
          role="radio"
          aria-checked={number === selected}
          title={titles?.[number] || undefined}
          onClick={() => onSelect(number)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
