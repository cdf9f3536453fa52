// Soft shadows on the floor, from which heights can be read: dark and sharp below what touches it, pale and blurred
// below what is high above. The objects are drawn along the floor's normal into a small texture, which is blurred.
// That is cheap enough for software rendering, follows every deformation, and is done only for new frames.

import { useFrame, useThree } from "@react-three/fiber";
import { useEffect, useMemo, useRef } from "react";
import {
  Color,
  DoubleSide,
  LinearFilter,
  Mesh,
  type Object3D,
  OrthographicCamera,
  PlaneGeometry,
  Scene,
  ShaderMaterial,
  type Texture,
  Vector2,
  Vector3,
  type WebGLRenderer,
  WebGLRenderTarget,
} from "three";
import { isEditing } from "../state/document";
import type { LiveScene } from "../state/live";
import { latestHeader } from "../state/studio";
import { useStudio } from "../state/store";
import { graphics } from "./graphics";
import { CASTER_LAYER } from "./layers";
import type { Floor, SceneExtent } from "./sceneExtent";

const TEXELS = graphics.full ? 512 : 256; // along a side of the texture
const REACH = 2.4; // half a side of the shadowed square, in radii of the scene
const CONTACT_HEIGHT = 0.2; // heights over which contact shadows fade and wide ones become pale, in radii
const FADING_HEIGHT = 1.2;
const CONTACT_BLUR = 0.008; // standard deviations, relative to the side of the texture
const WIDE_BLUR = 0.03;

const CASTER_VERTEX = `
uniform float pointSize;
varying float depth;
void main() {
  vec4 viewPosition = modelViewMatrix * vec4(position, 1.0);
  depth = -viewPosition.z;
  gl_Position = projectionMatrix * viewPosition;
  gl_PointSize = pointSize;
}`;

// red: contact, green: wide
const CASTER_FRAGMENT = `
uniform vec2 heights;
varying float depth;
void main() {
  float height = max(depth, 0.0);
  float pale = height / heights.y;
  gl_FragColor = vec4(exp(-height / heights.x), 1.0 / (1.0 + pale * pale), 0.0, 1.0);
}`;

const SQUARE_VERTEX = `
varying vec2 place;
void main() {
  place = uv;
  gl_Position = vec4(position.xy, 0.0, 1.0);
}`;

const BLUR_FRAGMENT = `
uniform sampler2D source;
uniform vec2 contactStep;
uniform vec2 wideStep;
varying vec2 place;
void main() {
  vec2 sum = vec2(0.0);
  float total = 0.0;
  for (int i = -4; i <= 4; i++) {
    float at = float(i) * 0.5;
    float weight = exp(-0.5 * at * at);
    sum += weight * vec2(texture2D(source, place + at * contactStep).r, texture2D(source, place + at * wideStep).g);
    total += weight;
  }
  gl_FragColor = vec4(sum / total, 0.0, 1.0);
}`;

const FLOOR_VERTEX = `
varying vec2 place;
void main() {
  place = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const FLOOR_FRAGMENT = `
uniform sampler2D source;
uniform vec3 color;
uniform vec2 strength;
varying vec2 place;
void main() {
  vec2 shadow = texture2D(source, vec2(1.0 - place.x, place.y)).rg * strength; // drawn from below
  vec2 border = smoothstep(vec2(0.0), vec2(0.08), place) * smoothstep(vec2(0.0), vec2(0.08), 1.0 - place);
  gl_FragColor = vec4(color, (1.0 - (1.0 - shadow.r) * (1.0 - shadow.g)) * border.x * border.y);
  #include <colorspace_fragment>
}`;

const target = () => new WebGLRenderTarget(TEXELS, TEXELS, { minFilter: LinearFilter, magFilter: LinearFilter });

/** Draws the shadow texture of a floor. */
class ShadowPass {
  private readonly drawn = target();
  private readonly blurred = target();
  private readonly camera: OrthographicCamera;
  private readonly casters: ShaderMaterial;
  private readonly blur = new ShaderMaterial({
    vertexShader: SQUARE_VERTEX,
    fragmentShader: BLUR_FRAGMENT,
    depthTest: false,
    depthWrite: false,
    uniforms: { source: { value: null }, contactStep: { value: new Vector2() }, wideStep: { value: new Vector2() } },
  });
  private readonly square = new Mesh(new PlaneGeometry(2, 2), this.blur);
  private readonly squareScene = new Scene().add(this.square);

  constructor(
    place: Object3D,
    private readonly reach: number,
    radius: number,
  ) {
    this.square.frustumCulled = false;
    this.square.layers.set(CASTER_LAYER); // the layer that the camera sees
    // the camera lies in the floor and looks up, so that the lowest point above each point of it counts
    this.camera = new OrthographicCamera(-reach, reach, reach, -reach, -0.05 * radius, 40 * radius);
    this.camera.position.copy(place.position);
    this.camera.quaternion.copy(place.quaternion);
    this.camera.rotateY(Math.PI); // a plane faces along its z axis, a camera looks against it
    this.camera.layers.set(CASTER_LAYER);
    this.camera.updateMatrixWorld();
    this.casters = new ShaderMaterial({
      vertexShader: CASTER_VERTEX,
      fragmentShader: CASTER_FRAGMENT,
      side: DoubleSide,
      uniforms: {
        pointSize: { value: 1 },
        heights: { value: new Vector2(CONTACT_HEIGHT * radius, FADING_HEIGHT * radius) },
      },
    });
  }

  get texture(): Texture {
    return this.drawn.texture;
  }

  draw(gl: WebGLRenderer, scene: Scene, pointRadius: number): void {
    this.casters.uniforms.pointSize.value = Math.max(1, (pointRadius * TEXELS) / this.reach);
    const shadows = gl.shadowMap.autoUpdate;
    gl.shadowMap.autoUpdate = false;
    scene.overrideMaterial = this.casters;
    gl.setRenderTarget(this.drawn);
    gl.clear();
    gl.render(scene, this.camera);
    scene.overrideMaterial = null;
    gl.shadowMap.autoUpdate = shadows;
    this.blurAlong(gl, this.drawn, this.blurred, 1, 0);
    this.blurAlong(gl, this.blurred, this.drawn, 0, 1);
    gl.setRenderTarget(null);
  }

  private blurAlong(gl: WebGLRenderer, from: WebGLRenderTarget, to: WebGLRenderTarget, x: number, y: number): void {
    const { uniforms } = this.blur;
    uniforms.source.value = from.texture;
    uniforms.contactStep.value.set(x * CONTACT_BLUR, y * CONTACT_BLUR);
    uniforms.wideStep.value.set(x * WIDE_BLUR, y * WIDE_BLUR);
    gl.setRenderTarget(to);
    gl.render(this.squareScene, this.camera);
  }

  dispose(): void {
    this.drawn.dispose();
    this.blurred.dispose();
    this.casters.dispose();
    this.blur.dispose();
    this.square.geometry.dispose();
  }
}

interface Props {
  scene: LiveScene;
  extent: SceneExtent;
  dark: boolean;
}

/** The shadows on all floors; flat scenes have none. */
export function FloorShadows({ scene, extent, dark }: Props) {
  const hidden = useStudio((s) => s.hidden);
  const planeFlow = useStudio((s) => Boolean(s.header?.planeFlow));
  if (extent.flat || planeFlow) return null;
  return extent.floors
    .filter(({ collider }) => collider === null || !hidden[`collider/${collider}`])
    .map((floor, number) => <FloorShadow key={number} scene={scene} extent={extent} floor={floor} dark={dark} />);
}

const FORWARD = new Vector3(0, 0, 1);

function FloorShadow({ scene, extent, floor, dark }: Props & { floor: Floor }) {
  const three = useThree((s) => s.scene);
  const invalidate = useThree((s) => s.invalidate);
  const reach = REACH * extent.radius;
  const material = useMemo(
    () =>
      new ShaderMaterial({
        vertexShader: FLOOR_VERTEX,
        fragmentShader: FLOOR_FRAGMENT,
        transparent: true,
        depthWrite: false,
        uniforms: { source: { value: null }, color: { value: new Color() }, strength: { value: new Vector2() } },
      }),
    [],
  );
  const plane = useMemo(() => {
    const made = new Mesh(new PlaneGeometry(2 * reach, 2 * reach), material);
    const offset = extent.center.clone().sub(floor.point);
    made.position.copy(extent.center).addScaledVector(floor.normal, -offset.dot(floor.normal));
    made.quaternion.setFromUnitVectors(FORWARD, floor.normal);
    made.renderOrder = -1;
    return made;
  }, [extent, floor, reach, material]);
  const pass = useMemo(() => new ShadowPass(plane, reach, extent.radius), [plane, reach, extent]);
  useEffect(() => () => pass.dispose(), [pass]);
  useEffect(() => () => plane.geometry.dispose(), [plane]);
  useEffect(() => () => material.dispose(), [material]);

  const shown = useRef<unknown>(null);
  const state = useStudio((s) => [s.hidden, s.exaggeration, s.embedded, s.interior, s.fluidStyle].map(String).join());
  const hidden = useStudio((s) => s.hidden);
  useEffect(() => {
    shown.current = null;
    invalidate();
  }, [pass, scene, state, hidden, invalidate]);

  useFrame(({ gl }) => {
    const { uniforms } = material;
    uniforms.color.value.set(dark ? "#000000" : "#0d1526");
    uniforms.strength.value.set(dark ? 0.7 : 0.55, dark ? 0.6 : 0.42);
    const seq = latestHeader()?.seq;
    if (shown.current === seq && !isEditing()) return; // the camera alone has moved
    shown.current = seq;
    const radii = scene.bodies.map(({ info }) => info.pointRadius ?? 0);
    pass.draw(gl, three, Math.max(0, ...radii));
    uniforms.source.value = pass.texture;
  });
  return <primitive object={plane} />;
}
