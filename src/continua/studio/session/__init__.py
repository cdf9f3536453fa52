"""Sessions: the thread that owns the world, its commands, and what it publishes."""
