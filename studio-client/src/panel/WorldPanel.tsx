import type { PanelMessage } from "../net/messages";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { Knobs } from "./ParameterInput";
import { Section } from "./Section";

export function WorldPanel({ panel }: { panel: PanelMessage }) {
  const settled = useStudio((s) => s.world?.settled);
  const busy = useStudio((s) => s.world?.busy != null);
  return (
    <Section title="World">
      {panel.world.map((group, number) => (
        <Knobs key={number} group={group} titled />
      ))}
      <button
        type="button"
        className="plain"
        disabled={busy}
        title="Go to where all forces are in balance, and rest there"
        onClick={() => send({ type: "settle" })}
      >
        Settle
      </button>
      {settled && (
        <p className="note" role="status">
          {settled}
        </p>
      )}
    </Section>
  );
}
