"""Liquids: level set, particles, surface tension and surface meshes."""
