import { linearScale, powerScale } from "../lib/scale";
import type { InsideLook } from "../net/messages";
import { chooseExtras, cutAt, lookInside } from "../state/studio";
import { remember, useStudio } from "../state/store";
import { Opacity } from "./Opacity";
import { Section, Tabs } from "./Section";
import { Check, Track } from "./Slider";

const MOST = 100; // times that displacements can be made larger
const grow = powerScale(MOST - 1);
const place = linearScale(0, 1);

/** What is drawn: edges, nodes, the shape at rest, larger displacements, and only one side of a plane. */
export function ViewPanel() {
  const wireframe = useStudio((s) => s.wireframe);
  const dots = useStudio((s) => s.dots);
  const skin = useStudio((s) => s.skin);
  const dressed = useStudio((s) => s.scene?.bodies.some((body) => body.skin) ?? false);
  const ghost = useStudio((s) => s.ghost);
  const factor = useStudio((s) => s.exaggeration);
  const extras = useStudio((s) => s.extras);
  const replay = useStudio((s) => Boolean(s.hello?.frames));
  return (
    <Section title="View">
      <div className="checks">
        <Check label="Edges" value={wireframe} onChange={(on) => remember({ wireframe: on })} />
        <Check label="Nodes" value={dots} onChange={(on) => useStudio.setState({ dots: on })} />
        {dressed && <Check label="Skin" value={skin} onChange={(on) => useStudio.setState({ skin: on })} />}
        <Check label="Shape at rest" value={ghost} onChange={(on) => useStudio.setState({ ghost: on })} />
        {!replay && (
          <>
            <Check label="Contact forces" value={extras.forces} onChange={(forces) => chooseExtras({ ...extras, forces })} />
            <Check label="Joints" value={extras.joints} onChange={(joints) => chooseExtras({ ...extras, joints })} />
          </>
        )}
      </div>
      <div className="slider">
        <label htmlFor="exaggeration" title="What displacements of soft bodies are multiplied by in the picture">
          Exaggeration
        </label>
        <span />
        <output>{factor === 1 ? "none" : `${Number(factor.toPrecision(3))} ×`}</output>
        <Track
          id="exaggeration"
          position={grow.toPosition(factor - 1)}
          text={`${factor}`}
          onSlide={(p) => useStudio.setState({ exaggeration: 1 + Number(grow.toValue(p).toPrecision(2)) })}
        />
      </div>
      {!replay && <Within />}
      {!replay && <LookInside />}
    </Section>
  );
}

const LOOKS: InsideLook[] = ["none", "surfaces", "volume"];

/** Shows the chosen field inside of soft bodies. */
function Within() {
  const look = useStudio((s) => s.inside);
  const count = useStudio((s) => s.levelCount);
  const field = useStudio((s) => s.field);
  const soft = useStudio((s) => s.scene?.bodies.some(({ info }) => info.kind === "soft" && Object.keys(info.cells).some((kind) => kind.startsWith("tetra"))));
  if (!soft) return null;
  return (
    <>
      <div className="slider">
        <span className="knob-label" title="Makes soft bodies glassy, and shows the field of the colours inside of them">
          Inside
        </span>
      </div>
      <Tabs
        label="Inside"
        names={["Nothing", "Surfaces", "Volume"]}
        chosen={LOOKS.indexOf(look)}
        onChoose={(next) => lookInside(LOOKS[next])}
      />
      {look !== "none" && field === null && <p className="note">Choose a colour to see something inside.</p>}
      {look === "surfaces" && (
        <div className="slider">
          <label htmlFor="levels" title="Surfaces of equal value, evenly over the range of the colours">
            Surfaces
          </label>
          <span />
          <output>{count}</output>
          <Track
            id="levels"
            position={(count - 1) / 7}
            text={`${count}`}
            onSlide={(p) => lookInside(look, 1 + Math.round(7 * p))}
          />
        </div>
      )}
      {look === "volume" && <Opacity />}
    </>
  );
}

/** Cuts bodies open along a plane. */
function LookInside() {
  const cut = useStudio((s) => s.cut);
  return (
    <>
      <div className="slider">
        <span className="knob-label" title="Shows whole elements on one side of a plane">
          Look inside
        </span>
      </div>
      <Tabs
        label="Cut across"
        names={["Whole", "x", "y", "z"]}
        chosen={cut.axis === null ? 0 : cut.axis + 1}
        onChoose={(next) => cutAt({ ...cut, axis: next === 0 ? null : ((next - 1) as 0 | 1 | 2) })}
      />
      {cut.axis !== null && (
        <>
          <div className="slider">
            <Track
              label="Place of the cut"
              position={place.toPosition(cut.place)}
              text={`${Math.round(100 * cut.place)} %`}
              onSlide={(p) => cutAt({ ...cut, place: p })}
            />
          </div>
          <Check label="The other side" value={cut.flip} onChange={(flip) => cutAt({ ...cut, flip })} />
        </>
      )}
    </>
  );
}
