import { useMemo } from "react";
import { Color, DoubleSide, Quaternion, ShaderMaterial, Vector3 } from "three";
import type { SceneExtent } from "./sceneExtent";

const VERTEX = `
varying vec2 planePosition;
void main() {
  planePosition = position.xy;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

// Lines of constant width on the screen; fine ones fade out before they alias.
const FRAGMENT = `
varying vec2 planePosition;
uniform float cell;
uniform float major;
uniform float reach;
uniform vec3 lineColor;
uniform vec3 fillColor;
uniform float lineOpacity;
uniform float fillOpacity;

float lines(float size, float width) {
  vec2 at = planePosition / size;
  vec2 slope = fwidth(at);
  vec2 offset = abs(fract(at - 0.5) - 0.5) / max(slope, vec2(1e-9));
  float near = min(offset.x, offset.y);
  float crowd = 1.0 - smoothstep(0.15, 0.5, max(slope.x, slope.y));
  return (1.0 - smoothstep(width - 0.5, width + 0.5, near)) * crowd;
}

void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, length(planePosition) / reach);
  float line = max(lines(cell, 0.6) * 0.45, lines(major, 0.8)) * lineOpacity;
  float alpha = max(line, fillOpacity) * fade * fade;
  gl_FragColor = vec4(mix(fillColor, lineColor, clamp(line / max(max(line, fillOpacity), 1e-6), 0.0, 1.0)), alpha);
  #include <colorspace_fragment>
}`;

interface GridProps {
  extent: SceneExtent;
  point: Vector3;
  /** A unit vector. */
  normal: Vector3;
  dark: boolean;
  solid: boolean;
}

const UP = new Vector3(0, 1, 0);

/** A grid through `point`; a solid one is a ground. */
export function Grid({ extent, point, normal, dark, solid }: GridProps) {
  const reach = 9 * extent.radius;
  const major = (/^2/.test(extent.cell.toExponential()) ? 5 : 10) * extent.cell;
  const rotation = useMemo(() => new Quaternion().setFromUnitVectors(UP, normal), [normal]);
  // The centre of the plane lies below the bodies, rounded to whole cells so that lines do not move.
  const origin = useMemo(() => {
    const offset = extent.center.clone().sub(point);
    offset.addScaledVector(normal, -offset.dot(normal)).applyQuaternion(rotation.clone().invert());
    const step = major;
    offset.set(Math.round(offset.x / step) * step, 0, Math.round(offset.z / step) * step);
    return offset.applyQuaternion(rotation).add(point);
  }, [extent, point, normal, rotation, major]);
  const material = useMemo(
    () =>
      new ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        transparent: true,
        depthWrite: false,
        side: DoubleSide,
        uniforms: {
          cell: { value: extent.cell },
          major: { value: major },
          reach: { value: reach },
          lineColor: { value: new Color(dark ? "#a9b6cf" : "#55617a") },
          fillColor: { value: new Color(dark ? "#39404d" : "#ffffff") },
          lineOpacity: { value: dark ? 0.3 : 0.34 },
          fillOpacity: { value: solid ? (dark ? 0.32 : 0.55) : 0 },
        },
      }),
    [extent, major, reach, dark, solid],
  );
  return (
    <group position={origin} quaternion={rotation}>
      <mesh material={material} rotation-x={-Math.PI / 2} renderOrder={-2}>
        <planeGeometry args={[2 * reach, 2 * reach]} />
      </mesh>
    </group>
  );
}

/** A grid for scale below the bodies. */
export function PlainGrid({ extent, height, dark }: { extent: SceneExtent; height: number; dark: boolean }) {
  const point = useMemo(() => new Vector3(extent.center.x, height, extent.center.z), [extent, height]);
  return <Grid extent={extent} point={point} normal={UP} dark={dark} solid={false} />;
}
