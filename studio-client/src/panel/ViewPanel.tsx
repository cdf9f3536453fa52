import { linearScale, powerScale } from "../lib/scale";
import type { InteriorMode } from "../net/messages";
import { setOverlays, setClipPlane, setInterior } from "../state/studio";
import { remember, useStudio } from "../state/store";
import { Opacity } from "./Opacity";
import { Section, Tabs } from "./Section";
import { Check, Track } from "./Slider";

const MAX_EXAGGERATION = 100;
const grow = powerScale(MAX_EXAGGERATION - 1);
const clipPosition = linearScale(0, 1);

/** View options: edges, nodes, rest shape, exaggeration, interior and clip plane. */
export function ViewPanel() {
  const wireframe = useStudio((s) => s.wireframe);
  const nodes = useStudio((s) => s.nodes);
  const embedded = useStudio((s) => s.embedded);
  const hasEmbedded = useStudio((s) => s.scene?.bodies.some((body) => body.embedded) ?? false);
  const restShape = useStudio((s) => s.restShape);
  const factor = useStudio((s) => s.exaggeration);
  const overlays = useStudio((s) => s.overlays);
  const replay = useStudio((s) => Boolean(s.hello?.frames));
  return (
    <Section title="View">
      <div className="checks">
        <Check label="Edges" value={wireframe} onChange={(on) => remember({ wireframe: on })} />
        <Check label="Nodes" value={nodes} onChange={(on) => useStudio.setState({ nodes: on })} />
        {hasEmbedded && <Check label="Skin" value={embedded} onChange={(on) => useStudio.setState({ embedded: on })} />}
        <Check label="Rest shape" value={restShape} onChange={(on) => useStudio.setState({ restShape: on })} />
        {!replay && (
          <>
            <Check label="Contact forces" value={overlays.forces} onChange={(forces) => setOverlays({ ...overlays, forces })} />
            <Check label="Joints" value={overlays.joints} onChange={(joints) => setOverlays({ ...overlays, joints })} />
          </>
        )}
      </div>
      <div className="slider">
        <label htmlFor="exaggeration" title="Factor on the drawn displacements of soft bodies">
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
      {!replay && <InteriorControls />}
      {!replay && <ClipPlaneControls />}
    </Section>
  );
}

const INTERIOR_MODES: InteriorMode[] = ["none", "surfaces", "volume"];

/** Draws the selected field inside soft bodies. */
function InteriorControls() {
  const mode = useStudio((s) => s.interior);
  const count = useStudio((s) => s.levelCount);
  const field = useStudio((s) => s.field);
  const soft = useStudio((s) => s.scene?.bodies.some(({ info }) => info.kind === "soft" && Object.keys(info.cells).some((kind) => kind.startsWith("tetra"))));
  if (!soft) return null;
  return (
    <>
      <div className="slider">
        <span className="parameter-label" title="Makes soft bodies transparent and shows the selected field inside them">
          Interior
        </span>
      </div>
      <Tabs
        label="Interior"
        names={["Nothing", "Isosurfaces", "Volume"]}
        selected={INTERIOR_MODES.indexOf(mode)}
        onSelect={(next) => setInterior(INTERIOR_MODES[next])}
      />
      {mode !== "none" && field === null && <p className="note">Select a field under Colour to show it inside.</p>}
      {mode === "surfaces" && (
        <div className="slider">
          <label htmlFor="levels" title="Number of isosurfaces, evenly spaced over the colour range">
            Isosurfaces
          </label>
          <span />
          <output>{count}</output>
          <Track
            id="levels"
            position={(count - 1) / 7}
            text={`${count}`}
            onSlide={(p) => setInterior(mode, 1 + Math.round(7 * p))}
          />
        </div>
      )}
      {mode === "volume" && <Opacity />}
    </>
  );
}

/** The clip plane. */
function ClipPlaneControls() {
  const clip = useStudio((s) => s.clip);
  return (
    <>
      <div className="slider">
        <span className="parameter-label" title="Shows only the whole elements on one side of a plane">
          Clip plane
        </span>
      </div>
      <Tabs
        label="Clip normal to"
        names={["Off", "x", "y", "z"]}
        selected={clip.axis === null ? 0 : clip.axis + 1}
        onSelect={(next) => setClipPlane({ ...clip, axis: next === 0 ? null : ((next - 1) as 0 | 1 | 2) })}
      />
      {clip.axis !== null && (
        <>
          <div className="slider">
            <Track
              label="Clip position"
              position={clipPosition.toPosition(clip.position)}
              text={`${Math.round(100 * clip.position)} %`}
              onSlide={(p) => setClipPlane({ ...clip, position: p })}
            />
          </div>
          <Check label="Flip side" value={clip.flip} onChange={(flip) => setClipPlane({ ...clip, flip })} />
        </>
      )}
    </>
  );
}
