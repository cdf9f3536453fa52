"""The control panel: parameters of a world that can be changed while it runs."""
