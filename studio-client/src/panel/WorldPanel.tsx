import type { PanelMessage } from "../net/messages";
import { send } from "../state/studio";
import { useStudio } from "../state/store";
import { ParameterInputs } from "./ParameterInput";
import { Section } from "./Section";

export function WorldPanel({ panel }: { panel: PanelMessage }) {
  const settleReport = useStudio((s) => s.world?.settleReport);
  const busy = useStudio((s) => s.world?.busy != null);
  return (
    <Section title="World">
      {panel.world.map((group, number) => (
        <ParameterInputs key={number} group={group} titled />
      ))}
      <button
        type="button"
        className="plain"
        disabled={busy}
        title="Solve for the static equilibrium and rest there"
        onClick={() => send({ type: "settle" })}
      >
        Settle
      </button>
      {settleReport && (
        <p className="note" role="status">
          {settleReport}
        </p>
      )}
    </Section>
  );
}
