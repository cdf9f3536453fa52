import { formatValue } from "../lib/format";
import { useStudio } from "../state/store";

/** Counts of a body's mesh, and the quality of its elements. */
export function MeshSummaryView({ name }: { name: string }) {
  const mesh = useStudio((s) => s.panel?.bodies.find((body) => body.name === name)?.mesh);
  if (!mesh) return null;
  const { angles } = mesh;
  const highest = Math.max(...(angles?.bins ?? [1]), 1);
  const width = 180 / (angles?.bins.length || 1);
  return (
    <div className="mesh-summary" aria-label="Mesh">
      <p>
        <b>{mesh.nodes.toLocaleString("en")}</b> nodes · <b>{mesh.elements.toLocaleString("en")}</b> {mesh.kind} ·{" "}
        <b>{mesh.triangles.toLocaleString("en")}</b> faces · {formatValue(mesh.volume, "m³")}
      </p>
      {angles && (
        <figure aria-label={`Dihedral angles from ${angles.min.toFixed(0)} to ${angles.max.toFixed(0)} degrees`}>
          <div className="bars" aria-hidden="true">
            {angles.bins.map((count, bin) => (
              <i
                key={bin}
                className={(bin + 1) * width <= 15 || bin * width >= 165 ? "poor" : undefined}
                style={{ height: `${(100 * count) / highest}%` }}
                title={`${bin * width} to ${(bin + 1) * width}°: ${count}`}
              />
            ))}
          </div>
          <figcaption>
            <span>0°</span>
            <span>
              dihedral angles {angles.min.toFixed(0)}° to {angles.max.toFixed(0)}°
            </span>
            <span>180°</span>
          </figcaption>
        </figure>
      )}
      {angles && (
        <p title="Largest ratio of circumradius to shortest edge; 0.61 for a regular tetrahedron">
          radius-edge ratio at most <b>{angles.maxRadiusEdge.toFixed(2)}</b>
        </p>
      )}
      {mesh.warnings.map((warning) => (
        <p key={warning} className="mesh-warning">
          {warning.charAt(0).toUpperCase() + warning.slice(1)}
        </p>
      ))}
    </div>
  );
}
