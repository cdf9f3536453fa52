import { formatValue, formatVector } from "../lib/format";
import type { BodyPanel, BoundaryConditionInfo } from "../net/messages";
import { remember, useStudio } from "../state/store";
import { boundaryConditionColors } from "../view/colors";
import { ParameterInput, Switch, useValue } from "./ParameterInput";

/** The boundary conditions of a body, with their current forces. */
export function BoundaryConditions({ body, dark }: { body: BodyPanel; dark: boolean }) {
  const markers = useStudio((s) => s.markers);
  if (body.boundaryConditions.length === 0) return <p className="note">This body has no boundary conditions.</p>;
  return (
    <>
      <ul className="boundary-conditions">
        {body.boundaryConditions.map((condition) => (
          <BoundaryCondition key={condition.key} condition={condition} color={boundaryConditionColors(dark)[condition.kind]} />
        ))}
      </ul>
      <label className="check">
        <input type="checkbox" checked={markers} onChange={(event) => remember({ markers: event.target.checked })} />
        Show in the view
      </label>
    </>
  );
}

function BoundaryCondition({ condition, color }: { condition: BoundaryConditionInfo; color: string }) {
  const [toggle, ...values] = condition.parameters;
  const on = useValue(toggle?.key ?? "") !== false;
  const force = useStudio((s) => s.header?.forces[condition.key]);
  return (
    <li className="boundary-condition" style={{ borderLeftColor: color }}>
      <div className="boundary-condition-title">
        {toggle ? <Switch parameter={toggle} /> : <span>{condition.title}</span>}
        <output title="Force on the body">{force ? formatValue(Math.hypot(...force), "N") : "–"}</output>
      </div>
      <div className="boundary-condition-note">
        <span>{condition.note}</span>
        {force && <span className="components">{formatVector(force, "N")}</span>}
      </div>
      {on && values.map((parameter) => <ParameterInput key={parameter.key} parameter={parameter} />)}
    </li>
  );
}
