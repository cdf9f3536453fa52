"""Speed against a baseline or a peer, measured in one run: `python -m benchmarks`."""
