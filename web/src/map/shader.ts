// How points look. One program for clouds and maps: what differs is in uniforms.

import { Color, GLSL3, RawShaderMaterial, Vector2, Vector3 } from "three";

export type Colouring = "height" | "age" | "distance";

const VERTEX = `
precision highp float;
precision highp int;
uniform mat4 modelViewMatrix;
uniform mat4 projectionMatrix;
uniform vec3 origin;
uniform float span;      // metres from 0 to 65535
uniform float cell;      // the width of what a point stands for, m
uniform float size;
uniform float grain;     // points are larger by this, where others are left out
uniform float height;    // of the drawing buffer, pixels
uniform float cut;
uniform int colouring;
uniform bool flat_;
uniform vec2 range;
uniform vec3 robot;
uniform float now;
uniform vec3 ramp[5];
uniform vec3 wall;
uniform vec3 floor_;
uniform vec3 echo;
uniform bool turns;      // clouds are turns of a lidar, in the plane
#ifdef MAP
in vec4 position;
in float born;
#else
in vec3 position;
#endif
out vec3 tint;
void main() {
  vec3 place = origin + position.xyz * span;
  float seconds = 0.0;
  bool gone = false;
#ifdef MAP
  float tenths = floor(position.w * 65535.0 + 0.5);
  seconds = tenths * 0.1 + now - born;
  gone = tenths > 65534.5;
#endif
  bool solid = flat_ && position.z > 0.0;
  if (flat_) place.z = solid ? 0.002 : 0.0;
#ifndef MAP
  if (turns) place.z = 0.01;
#endif
  gl_Position = projectionMatrix * modelViewMatrix * vec4(place, 1.0);
  float pixels = projectionMatrix[1][1] * height * 0.5 / gl_Position.w;
  if (flat_) {
    tint = solid ? wall : floor_;
    gl_PointSize = cell * pixels * 1.06 + 0.6;
  } else {
    float value = colouring == 0 ? place.z : colouring == 1 ? seconds : distance(place, robot);
    float t = clamp((value - range.x) / max(range.y - range.x, 0.001), 0.0, 0.9999) * 4.0;
    int i = int(t);
    tint = mix(ramp[i], ramp[i + 1], fract(t));
    gl_PointSize = clamp(cell * pixels, 1.6, 5.0) * size;
#ifndef MAP
    if (turns) {
      tint = echo;
      gl_PointSize = clamp(cell * pixels * 1.4, 4.5, 8.0);
    }
#endif
  }
#ifdef MAP
  gl_PointSize *= grain;
#endif
  if (gone || (!flat_ && place.z > cut)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;

const FRAGMENT = `
precision highp float;
uniform bool pick;
uniform bool flat_;
in vec3 tint;
out vec4 colour;
void main() {
  if (!flat_) {
    vec2 d = gl_PointCoord - 0.5;
    if (dot(d, d) > 0.25) discard;
  }
  if (pick) {
    // The depth, in 24 bits; the rest says that something is here.
    float depth = gl_FragCoord.z;
    vec3 parts = fract(depth * vec3(1.0, 255.0, 65025.0));
    parts -= parts.yzz * vec3(1.0 / 255.0, 1.0 / 255.0, 0.0);
    colour = vec4(parts, 1.0);
  } else {
    colour = vec4(tint, 1.0);
  }
}`;

/** What all points share. */
export const shared = {
  size: { value: 1 },
  grain: { value: 1 },
  height: { value: 1 },
  cut: { value: 1e9 },
  colouring: { value: 0 },
  range: { value: new Vector2(0, 2.2) },
  robot: { value: new Vector3() },
  now: { value: 0 },
  ramp: { value: [0, 1, 2, 3, 4].map(() => new Color()) },
  wall: { value: new Color() },
  floor_: { value: new Color() },
  echo: { value: new Color() },
  turns: { value: false },
  pick: { value: false },
};

export function pointMaterial(isMap: boolean, origin: [number, number, number], unit: number, cell: number, flat: boolean): RawShaderMaterial {
  return new RawShaderMaterial({
    glslVersion: GLSL3,
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    defines: isMap ? { MAP: 1 } : {},
    depthTest: isMap || !shared.turns.value,
    uniforms: {
      ...shared,
      origin: { value: new Vector3(...origin) },
      span: { value: unit * 65_535 },
      cell: { value: cell },
      flat_: { value: flat },
    },
  });
}
