import type { BodyPanel as Body, PanelMessage } from "../net/messages";
import { useStudio } from "../state/store";
import { BoundaryConditions } from "./BoundaryConditions";
import { ParameterInputs } from "./ParameterInput";
import { Section, Tabs } from "./Section";

/** Parameters and boundary conditions of a body. */
export function BodyPanel({ panel, dark }: { panel: PanelMessage; dark: boolean }) {
  const selected = useStudio((s) => s.body);
  const number = Math.max(
    0,
    panel.bodies.findIndex(({ name }) => name === selected),
  );
  const body = panel.bodies[number];
  if (!body) return null;
  return (
    <>
      <Section title="Body">
        <Tabs
          label="Body"
          names={panel.bodies.map(({ name }) => name)}
          selected={number}
          onSelect={(next) => useStudio.setState({ body: panel.bodies[next].name, part: 0 })}
        />
        <p className="note summary">{body.summary.join(" · ")}</p>
        <Material body={body} />
        {body.others.map((group, number) => (
          <ParameterInputs key={number} group={group} titled />
        ))}
      </Section>
      <Section title="Boundary conditions">
        <BoundaryConditions key={body.name} body={body} dark={dark} />
      </Section>
    </>
  );
}

function Material({ body }: { body: Body }) {
  const part = useStudio((s) => s.part);
  const number = part < body.materials.length ? part : 0;
  const group = body.materials[number];
  return (
    <>
      <Tabs
        label="Part"
        names={body.materials.map(({ title }) => title)}
        titles={body.materials.map(({ note }) => note)}
        selected={number}
        onSelect={(next) => useStudio.setState({ part: next })}
      />
      <ParameterInputs group={group} />
    </>
  );
}

/** Time integration of a body, and statistics of its last step. */
export function IntegrationPanel({ panel }: { panel: PanelMessage }) {
  const selected = useStudio((s) => s.body);
  const body = panel.bodies.find(({ name }) => name === selected);
  const report = useStudio((s) => (selected === null ? undefined : s.header?.reports[selected]));
  const solver = useStudio((s) => (selected === null ? undefined : s.header?.solvers[selected]));
  if (!body) return null;
  const counts: [string, number | undefined][] = [
    ["substeps", report?.substeps],
    ["Newton iterations", report?.newton],
    ["solver iterations", report?.iterations],
    ["inverted elements", report?.inverted],
    ["contacts", report?.contacts],
  ];
  return (
    <Section title="Time and solver" open={false}>
      {panel.bodies.length > 1 && <p className="note summary">of {body.name}</p>}
      <ParameterInputs group={body.integration} />
      <dl className="counts" aria-label="Last step">
        {counts.map(([label, count]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{count ?? "–"}</dd>
          </div>
        ))}
      </dl>
      {solver && <p className="note solver">{solver}</p>}
    </Section>
  );
}
