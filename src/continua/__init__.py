"""Continua: the physics of continua, in real time, on an ordinary CPU."""
