import { formatValue } from "../lib/format";
import { useStudio } from "../state/store";

/** Counts of a body's mesh, and how well its elements are shaped. */
export function MeshFactsView({ name }: { name: string }) {
  const mesh = useStudio((s) => s.panel?.bodies.find((body) => body.name === name)?.mesh);
  if (!mesh) return null;
  const { angles } = mesh;
  const most = Math.max(...(angles?.bins ?? [1]), 1);
  const width = 180 / (angles?.bins.length || 1);
  return (
    <div className="mesh-facts" aria-label="The mesh">
      <p>
        <b>{mesh.nodes.toLocaleString("en")}</b> nodes · <b>{mesh.elements.toLocaleString("en")}</b> {mesh.kind} ·{" "}
        <b>{mesh.triangles.toLocaleString("en")}</b> faces · {formatValue(mesh.volume, "m³")}
      </p>
      {angles && (
        <figure aria-label={`Angles between faces, from ${angles.min.toFixed(0)} to ${angles.max.toFixed(0)} degrees`}>
          <div className="bars" aria-hidden="true">
            {angles.bins.map((count, bin) => (
              <i
                key={bin}
                className={(bin + 1) * width <= 15 || bin * width >= 165 ? "poor" : undefined}
                style={{ height: `${(100 * count) / most}%` }}
                title={`${bin * width} to ${(bin + 1) * width}°: ${count}`}
              />
            ))}
          </div>
          <figcaption>
            <span>0°</span>
            <span>
              angles between faces, {angles.min.toFixed(0)}° to {angles.max.toFixed(0)}°
            </span>
            <span>180°</span>
          </figcaption>
        </figure>
      )}
      {angles && (
        <p title="Largest circumradius of an element over its shortest edge; a regular tetrahedron has 0.61">
          radius to edge at most <b>{angles.ratio.toFixed(2)}</b>
        </p>
      )}
      {mesh.notes.map((note) => (
        <p key={note} className="mesh-note">
          {note.charAt(0).toUpperCase() + note.slice(1)}
        </p>
      ))}
    </div>
  );
}
