// Mesh and scene files from this computer: uploaded to the studio's folder and added to the scene.

import type { Entry } from "../net/messages";
import { edit } from "./document";
import { toast } from "./store";
import { send } from "./studio";

/** Endings of the mesh files that the studio reads. */
export const MESH_ENDINGS = [".obj", ".stl", ".ply", ".off", ".glb", ".msh", ".vtu", ".vtk", ".mesh"];

/** What a mesh file can become. */
export const MESH_KINDS = ["soft", "rigid", "collider"];

const MAX_UPLOAD = 64 * 2 ** 20;
const MAX_SCENE = 400_000;

/** Upload a mesh file and add it to the scene. */
export async function uploadMesh(file: File, kind: string): Promise<void> {
  if (file.size > MAX_UPLOAD) return toast(`${file.name} is too large; at most 64 MB are allowed.`, true);
  try {
    const query = new URLSearchParams(window.location.search);
    query.set("name", file.name);
    query.set("kind", kind);
    const answer = await fetch(`./upload?${query.toString()}`, { method: "POST", body: file });
    const entry = (await answer.json()) as { message?: string; list?: string; value?: Entry };
    if (entry.list && entry.value) edit([{ op: "add", path: [entry.list], value: entry.value }], `adding ${file.name}`);
    else toast(entry.message ?? "The file was rejected.", true);
  } catch {
    toast("The file could not be uploaded.", true);
  }
  return undefined;
}

/** Replace the document by a scene file. */
export async function loadSceneFile(file: File): Promise<void> {
  if (file.size > MAX_SCENE) return toast(`${file.name} is too large for a scene.`, true);
  send({ type: "replace", text: await file.text() });
  return undefined;
}

/** Open files that were dropped on the page: a scene replaces the document, meshes are added to it. */
export async function openFiles(files: readonly File[], kind: string): Promise<void> {
  for (const file of files) {
    const name = file.name.toLowerCase();
    if (/\.ya?ml$/.test(name)) await loadSceneFile(file);
    else if (MESH_ENDINGS.some((ending) => name.endsWith(ending))) await uploadMesh(file, kind);
    else toast(`${file.name} is neither a mesh (${MESH_ENDINGS.join(", ")}) nor a scene (.yaml).`, true);
  }
}
