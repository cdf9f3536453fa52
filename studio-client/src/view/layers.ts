// Layers of objects: which passes draw them besides the view itself, which draws layer 0.

/** Opaque objects, which end the rays of volume renderings. */
export const OCCLUDER_LAYER = 1;
/** Objects that cast shadows on the floor. */
export const CASTER_LAYER = 2;

/** Masks of objects that are drawn. */
export const CASTS = 1 | (1 << CASTER_LAYER);
export const OCCLUDES_AND_CASTS = CASTS | (1 << OCCLUDER_LAYER);
