import type { BodyPanel as Body, PanelMessage } from "../net/messages";
import { useStudio } from "../state/store";
import { Holds } from "./BoundaryConditions";
import { Knobs } from "./ParameterInput";
import { Section, Tabs } from "./Section";

/** What is shown of a body, above what is shown of the world. */
export function BodyPanel({ panel, dark }: { panel: PanelMessage; dark: boolean }) {
  const chosen = useStudio((s) => s.body);
  const number = Math.max(
    0,
    panel.bodies.findIndex(({ name }) => name === chosen),
  );
  const body = panel.bodies[number];
  if (!body) return null;
  return (
    <>
      <Section title="Body">
        <Tabs
          label="Body"
          names={panel.bodies.map(({ name }) => name)}
          chosen={number}
          onChoose={(next) => useStudio.setState({ body: panel.bodies[next].name, part: 0 })}
        />
        <p className="note facts">{body.facts.join(" · ")}</p>
        <Material body={body} />
        {body.others.map((group, number) => (
          <Knobs key={number} group={group} titled />
        ))}
      </Section>
      <Section title="Holds and loads">
        <Holds key={body.name} body={body} dark={dark} />
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
        chosen={number}
        onChoose={(next) => useStudio.setState({ part: next })}
      />
      <Knobs group={group} />
    </>
  );
}

/** How the body is advanced in time, and how its last step went. */
export function SteppingPanel({ panel }: { panel: PanelMessage }) {
  const chosen = useStudio((s) => s.body);
  const body = panel.bodies.find(({ name }) => name === chosen);
  const report = useStudio((s) => (chosen === null ? undefined : s.header?.reports[chosen]));
  const solver = useStudio((s) => (chosen === null ? undefined : s.header?.solvers[chosen]));
  if (!body) return null;
  const counts: [string, number | undefined][] = [
    ["parts the step was done in", report?.parts],
    ["linearisations", report?.newton],
    ["solver iterations", report?.iterations],
    ["inverted elements", report?.inverted],
    ["contacts", report?.contacts],
  ];
  return (
    <Section title="Time and solver" open={false}>
      {panel.bodies.length > 1 && <p className="note facts">of {body.name}</p>}
      <Knobs group={body.stepping} />
      <dl className="counts" aria-label="The last step">
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
