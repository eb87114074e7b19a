"""Rate, jitter, latency and processor time of the nodes, beside the bare machine."""
