import { formatValue, formatVector } from "../lib/format";
import type { BodyPanel, HoldInfo } from "../net/messages";
import { remember, useStudio } from "../state/store";
import { markColors } from "../view/colors";
import { Knob, Switch, useValue } from "./ParameterInput";

/** What holds and loads a body, with the force that each exerts on it. */
export function Holds({ body, dark }: { body: BodyPanel; dark: boolean }) {
  const marks = useStudio((s) => s.marks);
  if (body.holds.length === 0) return <p className="note">Nothing is attached to this body.</p>;
  return (
    <>
      <ul className="holds">
        {body.holds.map((hold) => (
          <Hold key={hold.key} hold={hold} color={markColors(dark)[hold.kind]} />
        ))}
      </ul>
      <label className="check">
        <input type="checkbox" checked={marks} onChange={(event) => remember({ marks: event.target.checked })} />
        Draw them in the view
      </label>
    </>
  );
}

function Hold({ hold, color }: { hold: HoldInfo; color: string }) {
  const [toggle, ...values] = hold.knobs;
  const on = useValue(toggle?.key ?? "") !== false;
  const force = useStudio((s) => s.header?.forces[hold.key]);
  return (
    <li className="hold" style={{ borderLeftColor: color }}>
      <div className="hold-title">
        {toggle ? <Switch knob={toggle} /> : <span>{hold.title}</span>}
        <output title="Force on the body">{force ? formatValue(Math.hypot(...force), "N") : "–"}</output>
      </div>
      <div className="hold-note">
        <span>{hold.note}</span>
        {force && <span className="components">{formatVector(force, "N")}</span>}
      </div>
      {on && values.map((knob) => <Knob key={knob.key} knob={knob} />)}
    </li>
  );
}
